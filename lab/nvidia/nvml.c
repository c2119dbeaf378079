/* Stands for the library through which NVIDIA's programs ask about discrete GPUs (NVML) in edgectl's lab, where there is
 * none: it counts the device nodes /dev/nvidia0 .. 7 and answers what NVIDIA's container toolkit and device plugin ask to
 * describe them. Nothing ever happens on these GPUs. Types and numbers: nvml.h of github.com/NVIDIA/go-nvml. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TIMEOUT = 10, MOST = 8 };

/* Of the form in which the real ones are, and in /proc/driver/nvidia/gpus of the simulated host. */
static const char *const uuid_form = "GPU-ed6ec710-0000-4000-8000-00000000000%u";
static const char *const name = "NVIDIA RTX A2000 (simulated by edgectl's lab)";

/* nvmlPciInfo_t */
struct pci {
    char legacy_id[16];
    unsigned int domain, bus, device, device_id, subsystem_id;
    char id[32];
};

/* nvmlMemory_t, in bytes */
struct memory {
    unsigned long long total, free, used;
};

/* A handle points to the number of its GPU. */
static unsigned int numbers[MOST] = {0, 1, 2, 3, 4, 5, 6, 7};

static unsigned int count(void)
{
    char path[16];
    unsigned int found = 0;
    while (found < MOST) {
        snprintf(path, sizeof path, "/dev/nvidia%u", found);
        if (access(path, F_OK))
            break;
        found++;
    }
    return found;
}

static int text(char *into, unsigned int size, const char *value)
{
    return snprintf(into, size, "%s", value) < (int)size ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlInit_v2(void) { return SUCCESS; }

int nvmlShutdown(void) { return SUCCESS; }

const char *nvmlErrorString(int result) { return result ? "error of edgectl's simulated NVML" : "success"; }

int nvmlSystemGetDriverVersion(char *version, unsigned int size) { return text(version, size, DRIVER); }

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    *version = CUDA;
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned int *found)
{
    *found = count();
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, unsigned int **device)
{
    if (index >= count())
        return INVALID_ARGUMENT;
    *device = &numbers[index];
    return SUCCESS;
}

int nvmlDeviceGetUUID(const unsigned int *device, char *uuid, unsigned int size)
{
    char value[64];
    snprintf(value, sizeof value, uuid_form, *device);
    return text(uuid, size, value);
}

int nvmlDeviceGetHandleByUUID(const char *uuid, unsigned int **device)
{
    char value[64];
    for (unsigned int index = 0; index < count(); index++) {
        nvmlDeviceGetUUID(&numbers[index], value, sizeof value);
        if (!strcmp(value, uuid)) {
            *device = &numbers[index];
            return SUCCESS;
        }
    }
    return NOT_FOUND;
}

int nvmlDeviceGetIndex(const unsigned int *device, unsigned int *index)
{
    *index = *device;
    return SUCCESS;
}

int nvmlDeviceGetMinorNumber(const unsigned int *device, unsigned int *number)
{
    *number = *device;
    return SUCCESS;
}

int nvmlDeviceGetName(const unsigned int *device, char *into, unsigned int size)
{
    (void)device;
    return text(into, size, name);
}

int nvmlDeviceGetPciInfo_v3(const unsigned int *device, struct pci *info)
{
    memset(info, 0, sizeof *info);
    info->bus = *device + 1;
    snprintf(info->legacy_id, sizeof info->legacy_id, "0000:%02X:00.0", info->bus);
    snprintf(info->id, sizeof info->id, "00000000:%02X:00.0", info->bus);
    return SUCCESS;
}

int nvmlDeviceIsMigDeviceHandle(const unsigned int *device, unsigned int *is_mig)
{
    (void)device;
    *is_mig = 0;
    return SUCCESS;
}

int nvmlDeviceGetMigMode(const unsigned int *device, unsigned int *current, unsigned int *pending)
{
    (void)device;
    (void)current;
    (void)pending;
    return NOT_SUPPORTED;
}

/* That of an RTX A2000: 6 GiB. */
int nvmlDeviceGetMemoryInfo(const unsigned int *device, struct memory *memory)
{
    (void)device;
    memory->total = memory->free = 6ULL << 30;
    memory->used = 0;
    return SUCCESS;
}

int nvmlDeviceGetCudaComputeCapability(const unsigned int *device, int *major, int *minor)
{
    (void)device;
    *major = 8;
    *minor = 6;
    return SUCCESS;
}

int nvmlEventSetCreate(void **set)
{
    static char none;
    *set = &none;
    return SUCCESS;
}

int nvmlEventSetFree(void *set)
{
    (void)set;
    return SUCCESS;
}

int nvmlDeviceGetSupportedEventTypes(const unsigned int *device, unsigned long long *types)
{
    (void)device;
    *types = 0;
    return SUCCESS;
}

int nvmlDeviceRegisterEvents(const unsigned int *device, unsigned long long types, void *set)
{
    (void)device;
    (void)types;
    (void)set;
    return SUCCESS;
}

int nvmlEventSetWait_v2(void *set, void *event, unsigned int milliseconds)
{
    (void)set;
    (void)event;
    usleep(milliseconds * 1000);
    return TIMEOUT;
}

/* By this function a program tells that the GPU is simulated; NVIDIA's library has none of this name. */
int edgectl_lab_simulated(void) { return 1; }
