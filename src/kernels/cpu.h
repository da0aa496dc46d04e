/* Processor features live in base/, where number/ needs them too. */
#include "base/cpu.h"
