# tests of formula
