/* Stands for the CUDA driver library in edgectl's lab, where there is no GPU: it loads, says which CUDA the driver would
 * run (CUDA, such as 12060 of JetPack 6.2), and finds no device. No libc, so that it loads in any container. */

enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_NO_DEVICE = 100 };

int cuInit(unsigned int flags)
{
    (void)flags;
    return CUDA_ERROR_NO_DEVICE;
}

int cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = CUDA;
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
