# tests of ops
