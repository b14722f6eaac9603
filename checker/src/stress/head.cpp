#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

struct Memory {
    const char* name;
    size_t bytes;
    size_t stride;
    size_t element;
    const unsigned char* initial;
};

struct Column {
    size_t number;
    const char* name;
    bool is_found;
    uint64_t found;
};

// The memory of one instance.
struct Memories {
    std::vector<const unsigned char*> starts;
    uint64_t at(size_t object, size_t offset, size_t bytes) const {
        uint64_t value = 0;
        std::memcpy(&value, starts[object] + offset, bytes);
        return value;
    }
};

struct Final {
    const char* name;
    bool (*holds)(const Memories&);
};

static inline uint64_t bits(uint64_t value, unsigned width) {
    return width >= 64 ? value : value & ((uint64_t(1) << width) - 1);
}

