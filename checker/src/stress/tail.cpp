
static void check(CUresult result, const char* what) {
    if (result == CUDA_SUCCESS) return;
    const char* why = nullptr;
    cuGetErrorString(result, &why);
    std::fprintf(stderr, "error: %s: %s\n", what, why ? why : "unknown");
    std::exit(2);
}

// What came out of an instance: in words, and whether it is wrong, and as in the execution that was found.
struct Said {
    std::string text;
    bool is_wrong;
    bool is_found;
};

static Said said(const Memories& memory, uint32_t failed, const uint64_t* values) {
    Said said{"", false, COLUMNS_FOUND > 0};
    char piece[160];
    for (const Column* column = COLUMNS; column->name; ++column) {
        uint64_t value = values[column->number];
        if (value > 0) {
            std::snprintf(piece, sizeof piece, "  %s reads %llu\n", column->name, (unsigned long long)(value - 1));
            said.text += piece;
        }
        if (column->is_found && value != column->found) said.is_found = false;
    }
    size_t shown = 0;
    for (size_t object = 0; MEMORY[object].name; ++object) {
        const Memory& of = MEMORY[object];
        for (size_t at = 0; at + of.element <= of.bytes && shown < 8; at += of.element, ++shown) {
            std::snprintf(piece, sizeof piece, "  %s[%zu] ends as %llu\n", of.name, at / of.element,
                          (unsigned long long)memory.at(object, at, of.element));
            said.text += piece;
        }
    }
    for (size_t number = 0; ASSERTIONS[number]; ++number) {
        if (failed >> (number < 31 ? number : 31) & 1) {
            said.text += std::string("  fails: ") + ASSERTIONS[number] + "\n";
            said.is_wrong = true;
        }
    }
    for (const Final* final = FINALS; final->name; ++final) {
        if (!final->holds(memory)) {
            said.text += std::string("  fails in the end: ") + final->name + "\n";
            said.is_wrong = true;
        }
    }
    return said;
}

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
    const uint32_t longest = argc > 2 ? uint32_t(std::atoi(argv[2])) : 1023;
    uint32_t mask = 0;
    while (mask < longest) mask = mask * 2 + 1;

    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    int processors = 0, per_processor = 0;
    check(cuInit(0), "no driver");
    check(cuDeviceGet(&device, 0), "no device");
    check(cuDevicePrimaryCtxRetain(&context, device), "no context");
    check(cuCtxSetCurrent(context), "no context");
    check(cuModuleLoadData(&module, PTX), "the driver does not take the module");
    check(cuModuleGetFunction(&kernel, module, ENTRY), "the kernel is not in the module");
    check(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device), "attributes");
    check(cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, kernel, BLOCK, 0), "occupancy");

    // All of them fit at once, so that blocks may wait for one another.
    size_t instances = size_t(processors) * size_t(per_processor) / CTAS;
    if (instances > 1) instances -= instances / 8;
    if (instances == 0) {
        std::fprintf(stderr, "error: %u blocks of %u threads do not fit on this device at once\n", CTAS, BLOCK);
        return 2;
    }
    const size_t n_values = size_t(CTAS) * BLOCK * VALUES;

    std::vector<CUdeviceptr> memory;
    std::vector<std::vector<unsigned char>> initial, ended;
    for (const Memory* of = MEMORY; of->name; ++of) {
        CUdeviceptr start;
        check(cuMemAlloc(&start, of->stride * instances), "memory");
        std::vector<unsigned char> bytes(of->stride * instances, 0);
        for (size_t at = 0; of->initial && at < instances; ++at) std::memcpy(&bytes[at * of->stride], of->initial, of->bytes);
        memory.push_back(start);
        initial.push_back(bytes);
        ended.push_back(bytes);
    }
    CUdeviceptr failed, values;
    std::vector<uint32_t> all_failed(instances);
    std::vector<uint64_t> all_values(instances * n_values);
    check(cuMemAlloc(&failed, instances * sizeof(uint32_t)), "memory");
    check(cuMemAlloc(&values, instances * n_values * sizeof(uint64_t)), "memory");

    uint32_t seed = 1;
    std::vector<void*> arguments;
    for (CUdeviceptr& start : memory) arguments.push_back(&start);
    arguments.push_back(&failed);
    arguments.push_back(&values);
    arguments.push_back(&seed);
    arguments.push_back(&mask);
    for (uint32_t& parameter : PARAMETERS) arguments.push_back(&parameter);

    struct Counted {
        size_t n;
        Said said;
    };
    std::map<std::string, Counted> counted;
    size_t rounds = 0;
    const auto start = std::chrono::steady_clock::now();
    const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
    do {
        for (size_t object = 0; object < memory.size(); ++object)
            check(cuMemcpyHtoD(memory[object], initial[object].data(), initial[object].size()), "copy");
        check(cuMemsetD8(failed, 0, instances * sizeof(uint32_t)), "copy");
        check(cuMemsetD8(values, 0, instances * n_values * sizeof(uint64_t)), "copy");
        seed = seed * 1664525u + 1013904223u;
        const unsigned grid = unsigned(instances * CTAS);
        check(COOPERATIVE ? cuLaunchCooperativeKernel(kernel, grid, 1, 1, BLOCK, 1, 1, 0, nullptr, arguments.data())
                          : cuLaunchKernel(kernel, grid, 1, 1, BLOCK, 1, 1, 0, nullptr, arguments.data(), nullptr),
              "launch");
        const double launched = passed();
        CUresult state;
        while ((state = cuStreamQuery(nullptr)) == CUDA_ERROR_NOT_READY) {
            if (passed() - launched > 20) {
                std::printf("round %zu has not ended after 20 seconds: some thread waits for ever\n", rounds);
                std::fflush(stdout);
                std::_Exit(1);
            }
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
        check(state, "the kernel ended in an error");
        for (size_t object = 0; object < memory.size(); ++object)
            check(cuMemcpyDtoH(ended[object].data(), memory[object], ended[object].size()), "copy");
        check(cuMemcpyDtoH(all_failed.data(), failed, instances * sizeof(uint32_t)), "copy");
        check(cuMemcpyDtoH(all_values.data(), values, instances * n_values * sizeof(uint64_t)), "copy");
        for (size_t instance = 0; instance < instances; ++instance) {
            Memories own;
            for (size_t object = 0; object < memory.size(); ++object)
                own.starts.push_back(&ended[object][instance * MEMORY[object].stride]);
            Said what = said(own, all_failed[instance], &all_values[instance * n_values]);
            Counted& known = counted.emplace(what.text, Counted{0, what}).first->second;
            ++known.n;
        }
        ++rounds;
    } while (passed() < seconds);

    size_t wrong = 0, found = 0;
    std::printf("%zu rounds of %zu instances, %zu outcomes\n", rounds, instances, counted.size());
    for (const auto& outcome : counted) {
        const Counted& of = outcome.second;
        std::printf("\n%zu times%s%s\n%s", of.n, of.said.is_wrong ? "  <== wrong" : "",
                    of.said.is_found ? "  <== as in the execution that was found" : "", of.said.text.c_str());
        wrong += of.said.is_wrong ? of.n : 0;
        found += of.said.is_found ? of.n : 0;
    }
    std::printf("\n%zu instances went wrong; %zu went as in the execution that was found\n", wrong, found);
    if (wrong == 0) std::printf("Not to see it proves nothing: another device, driver or load may show it.\n");
    return wrong > 0 ? 1 : 0;
}
