/* Stands for a Jetson's CUDA driver library in edgectl's lab, where there is no GPU: it loads, says which CUDA the
 * driver would run, and finds no device. No libc, so that it loads in any container. */

enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_NO_DEVICE = 100 };

/* JetPack 6.2: CUDA 12.6. */
static const int driver_version = 12060;

int cuInit(unsigned int flags)
{
    (void)flags;
    return CUDA_ERROR_NO_DEVICE;
}

int cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = driver_version;
    return CUDA_SUCCESS;
}

int cuDeviceGetCount(int *count)
{
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = 0;
    return CUDA_ERROR_NO_DEVICE;
}

/* By this function a program tells that the GPU is simulated; NVIDIA's library has none of this name. */
int edgectl_lab_simulated(void)
{
    return 1;
}
