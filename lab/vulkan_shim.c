/* A Vulkan driver around Mesa's lavapipe 22.3 that claims the dynamic-indexing features that Dawn
 * asks for and lavapipe does not report, for lab/record_webgpu.py: gcc -shared -fPIC -O1 -o
 * libshim.so lab/vulkan_shim.c -ldl */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <stdlib.h>
#include <stdio.h>
typedef void (*PFN)(void);
typedef PFN (*GIPA)(void *, const char *);
static GIPA real;
static void *L;
static void *inst;
static void load(void)
{
    if (!L) {
        L = dlopen("/usr/lib/x86_64-linux-gnu/libvulkan_lvp.so", RTLD_NOW | RTLD_LOCAL);
        if (!L)
            fprintf(stderr, "shim: %s\n", dlerror());
        real = (GIPA)dlsym(L, "vk_icdGetInstanceProcAddr");
    }
}
typedef struct N {
    uint32_t sType;
    struct N *pNext;
} N;
static uint32_t had[55];
static void patch(uint32_t *f)
{
    if (getenv("SHIM_SHOW"))
        for (int i = 0; i < 55; i++)
            if (!f[i])
                fprintf(stderr, "shim: feature %d absent\n", i);
    memcpy(had, f, sizeof had);
    for (int i = 33; i <= 36; i++)
        f[i] = 1;
}
static void (*rf)(void *, uint32_t *);
static void (*rf2)(void *, N *);
static int (*rcd)(void *, void *, void *, void *);
static void F(void *p, uint32_t *f)
{
    rf(p, f);
    patch(f);
}
static void F2(void *p, N *n)
{
    rf2(p, n);
    patch((uint32_t *)(n + 1));
}
typedef struct {
    uint32_t sType;
    N *pNext;
    uint32_t flags, nq;
    void *q;
    uint32_t nl;
    void *l;
    uint32_t ne;
    void *e;
    uint32_t *f;
} DCI;
static int CD(void *p, DCI *c, void *a, void *o)
{
    uint32_t r[55];
    rf(p, r);
    uint32_t *fs[2] = {c->f, 0};
    for (N *n = c->pNext; n; n = n->pNext)
        if (n->sType == 1000059000)
            fs[1] = (uint32_t *)(n + 1);
    for (int k = 0; k < 2; k++)
        if (fs[k])
            for (int i = 33; i <= 36; i++)
                if (!r[i])
                    fs[k][i] = 0;
    return rcd(p, c, a, o);
}
__attribute__((visibility("default"))) PFN vk_icdGetInstanceProcAddr(void *i, const char *n)
{
    load();
    PFN r = real(i, n);
    if (!r)
        return r;
    if (!strcmp(n, "vkGetPhysicalDeviceFeatures")) {
        rf = (void *)r;
        return (PFN)F;
    }
    if (!strcmp(n, "vkGetPhysicalDeviceFeatures2") ||
        !strcmp(n, "vkGetPhysicalDeviceFeatures2KHR")) {
        rf2 = (void *)r;
        if (!rf)
            rf = (void *)real(i, "vkGetPhysicalDeviceFeatures");
        return (PFN)F2;
    }
    if (!strcmp(n, "vkCreateDevice")) {
        rcd = (void *)r;
        if (!rf)
            rf = (void *)real(i, "vkGetPhysicalDeviceFeatures");
        return (PFN)CD;
    }
    return r;
}
__attribute__((visibility("default"))) PFN vk_icdGetPhysicalDeviceProcAddr(void *i, const char *n)
{
    load();
    GIPA g = (GIPA)dlsym(L, "vk_icdGetPhysicalDeviceProcAddr");
    if (!g)
        return 0;
    PFN w = 0;
    if (!strncmp(n, "vkGetPhysicalDeviceFeatures", 27))
        w = vk_icdGetInstanceProcAddr(i, n);
    return w ? w : g(i, n);
}
__attribute__((visibility("default"))) int vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *v)
{
    load();
    int (*g)(uint32_t *) = (void *)dlsym(L, "vk_icdNegotiateLoaderICDInterfaceVersion");
    return g(v);
}
