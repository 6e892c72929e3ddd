/* talp.h: DLB's functions, as dlb.h and dlb_talp.h of DLB declare them, for talp.c and talp.cc. */
#include <stdbool.h>

#include "../../preload/talp/talp.h"

#ifdef __cplusplus
extern "C" {
#endif
int DLB_Init(int ncpus, const void *mask, const char *dlb_args);
int DLB_Finalize(void);
int DLB_Lend(void);
int DLB_SetObserverRole(bool thread_is_observer);
const char *DLB_Strerror(int errnum);
void *DLB_BarrierNamedRegister(const char *barrier_name, int flags);
dlb_monitor_t *DLB_MonitoringRegionGetGlobal(void);
dlb_monitor_t *DLB_MonitoringRegionGetImplicit(void);
dlb_monitor_t *DLB_MonitoringRegionRegister(const char *name);
int DLB_MonitoringRegionReset(dlb_monitor_t *handle);
int DLB_MonitoringRegionStart(dlb_monitor_t *handle);
int DLB_MonitoringRegionStop(dlb_monitor_t *handle);
int DLB_MonitoringRegionReport(const dlb_monitor_t *handle);
int DLB_MonitoringRegionsUpdate(void);
int DLB_TALP_GetTimes(int pid, double *mpi_time, double *useful_time);
int DLB_TALP_CollectPOPMetrics(dlb_monitor_t *monitor, void *pop_metrics);
int DLB_TALP_CollectPOPNodeMetrics(dlb_monitor_t *monitor, void *node_metrics);
#ifdef __cplusplus
}
#endif
#define DLB_GLOBAL_REGION NULL
#define DLB_LAST_OPEN_REGION ((dlb_monitor_t *)1)
