#include "model/pickle_opcodes.h"

namespace graphtag {
namespace {

struct Entry {
  std::uint8_t code;
  std::string_view name;
  std::string_view danger;  // empty: let through
};

constexpr Entry kEntries[] = {
    {'(', "MARK", {}},
    {'.', "STOP", {}},
    {'0', "POP", {}},
    {'1', "POP_MARK", {}},
    {'2', "DUP", {}},
    {'F', "FLOAT", {}},
    {'I', "INT", {}},
    {'J', "BININT", {}},
    {'K', "BININT1", {}},
    {'L', "LONG", {}},
    {'M', "BININT2", {}},
    {'N', "NONE", {}},
    {'R', "REDUCE", {}},
    {'S', "STRING", {}},
    {'T', "BINSTRING", {}},
    {'U', "SHORT_BINSTRING", {}},
    {'V', "UNICODE", {}},
    {'X', "BINUNICODE", {}},
    {']', "EMPTY_LIST", {}},
    {'a', "APPEND", {}},
    {'c', "GLOBAL", {}},
    {'d', "DICT", {}},
    {'}', "EMPTY_DICT", {}},
    {'e', "APPENDS", {}},
    {'g', "GET", {}},
    {'h', "BINGET", {}},
    {'j', "LONG_BINGET", {}},
    {'l', "LIST", {}},
    {'p', "PUT", {}},
    {'q', "BINPUT", {}},
    {'r', "LONG_BINPUT", {}},
    {'s', "SETITEM", {}},
    {'t', "TUPLE", {}},
    {')', "EMPTY_TUPLE", {}},
    {'u', "SETITEMS", {}},
    {'G', "BINFLOAT", {}},
    {0x80, "PROTO", {}},
    {0x85, "TUPLE1", {}},
    {0x86, "TUPLE2", {}},
    {0x87, "TUPLE3", {}},
    {0x88, "NEWTRUE", {}},
    {0x89, "NEWFALSE", {}},
    {0x8a, "LONG1", {}},
    {0x8b, "LONG4", {}},
    {0x8c, "SHORT_BINUNICODE", {}},
    {0x8d, "BINUNICODE8", {}},
    {0x93, "STACK_GLOBAL", {}},
    {0x94, "MEMOIZE", {}},
    {0x95, "FRAME", {}},
    {'P', "PERSID", "asks the loading program for an object"},
    {'Q', "BINPERSID", "asks the loading program for an object"},
    {'b', "BUILD", "sets the state of an object"},
    {'i', "INST", "makes an instance of a class"},
    {'o', "OBJ", "makes an instance of a class"},
    {0x81, "NEWOBJ", "makes an instance of a class"},
    {0x92, "NEWOBJ_EX", "makes an instance of a class"},
    {0x82, "EXT1", "asks the loading program's extension registry for an object"},
    {0x83, "EXT2", "asks the loading program's extension registry for an object"},
    {0x84, "EXT4", "asks the loading program's extension registry for an object"},
    {'B', "BINBYTES", "makes bytes, which annotations cannot hold"},
    {'C', "SHORT_BINBYTES", "makes bytes, which annotations cannot hold"},
    {0x8e, "BINBYTES8", "makes bytes, which annotations cannot hold"},
    {0x96, "BYTEARRAY8", "makes a bytearray, which annotations cannot hold"},
    {0x97, "NEXT_BUFFER", "asks the loading program for a buffer"},
    {0x98, "READONLY_BUFFER", "asks the loading program for a buffer"},
    {0x8f, "EMPTY_SET", "makes a set, which annotations cannot hold"},
    {0x90, "ADDITEMS", "makes a set, which annotations cannot hold"},
    {0x91, "FROZENSET", "makes a frozenset, which annotations cannot hold"},
};

const Entry* find(std::uint8_t code) {
  for (const Entry& entry : kEntries) {
    if (entry.code == code) return &entry;
  }
  return nullptr;
}

}  // namespace

std::optional<std::string_view> pickle_op_name(std::uint8_t code) {
  const Entry* entry = find(code);
  if (entry == nullptr) return {};
  return entry->name;
}

std::optional<std::string_view> pickle_op_danger(std::uint8_t code) {
  const Entry* entry = find(code);
  if (entry == nullptr || entry->danger.empty()) return {};
  return entry->danger;
}

}  // namespace graphtag
