# tests of wide
