# tests of unit
