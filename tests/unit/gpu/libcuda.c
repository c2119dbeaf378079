/* Stands for NVIDIA's driver: the calls that gpu_check.py makes, computed on the CPU.
 *
 * BEHAVIOUR (environment): "" computes rightly, "idle" never runs the kernel, "wrong" spoils one element,
 * "no-device" finds none, "no-init" fails in cuInit, "no-jit" does not translate the program.
 * With -DSIMULATED it says that it is the lab's.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
typedef uint64_t CUdeviceptr;
static int loaded, context;

static int is(const char *wanted) {
    const char *behaviour = getenv("BEHAVIOUR");
    return behaviour && !strcmp(behaviour, wanted);
}

#ifdef SIMULATED
int edgectl_lab_simulated(void) { return 1; }
CUresult cuInit(unsigned flags) { abort(); }
#else
CUresult cuInit(unsigned flags) { return flags ? 1 : is("no-init") ? 999 : 0; }
CUresult cuDriverGetVersion(int *version) { *version = 12060; return 0; }
CUresult cuDeviceGetCount(int *count) { *count = is("no-device") ? 0 : 1; return 0; }
CUresult cuDeviceGet(int *device, int number) { *device = 7; return number ? 101 : 0; }
CUresult cuDeviceGetName(char *name, int length, int device) { strncpy(name, "Orin", length); return device != 7; }
CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 75 ? 8 : attribute == 76 ? 7 : -1;
    return device != 7;
}
CUresult cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = (size_t)15656 << 20; return device != 7; }
CUresult cuDevicePrimaryCtxRetain(void **made, int device) { *made = &context; return device != 7; }
CUresult cuDevicePrimaryCtxRelease(int device) { return device != 7; }
CUresult cuCtxSetCurrent(void *set) { return set != &context; }
CUresult cuCtxSynchronize(void) { return 0; }
CUresult cuModuleLoadData(void **module, const char *text) {
    if (is("no-jit") || !strstr(text, ".version 6.3\n.target sm_75\n")) return 218;
    *module = &loaded;
    return 0;
}
CUresult cuModuleGetFunction(void **function, void *module, const char *name) {
    if (module != &loaded || strcmp(name, "edgectl_add")) return 500;
    *function = &loaded;
    return 0;
}
CUresult cuModuleUnload(void *module) { return module != &loaded; }
/* Addresses above 4 GiB, as a GPU's are: whoever cuts them to 32 bits falls. */
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) { *address = (CUdeviceptr)malloc(bytes); return 0; }
CUresult cuMemFree_v2(CUdeviceptr address) { free((void *)address); return 0; }
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) { memcpy((void *)to, from, bytes); return 0; }
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) { memcpy(to, (void *)from, bytes); return 0; }
CUresult cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, void *stream, void **parameters, void **extra) {
    uint32_t *left = *(uint32_t **)parameters[0], *right = *(uint32_t **)parameters[1];
    uint32_t *sum = *(uint32_t **)parameters[2], count = *(uint32_t *)parameters[3];
    if (function != &loaded || gy * gz * by * bz != 1 || shared || stream || extra) return 1;
    if (is("idle")) return 0;
    for (uint32_t thread = 0; thread < gx * bx; thread++)
        if (thread < count) sum[thread] = left[thread] + right[thread];
    if (is("wrong")) sum[count - 1] ^= 1;
    return 0;
}
CUresult cuGetErrorName(CUresult error, const char **name) {
    *name = error == 999 ? "CUDA_ERROR_UNKNOWN" : error == 218 ? "CUDA_ERROR_INVALID_PTX" : NULL;
    return *name ? 0 : 1;
}
CUresult cuGetErrorString(CUresult error, const char **text) {
    *text = error == 999 ? "unknown error" : NULL;
    return *text ? 0 : 1;
}
#endif
