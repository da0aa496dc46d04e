# tests of strip
