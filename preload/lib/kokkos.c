/* kokkos.c: Kokkos' profile regions as sections.
 *
 * Kokkos looks for these functions in the libraries that its user names in KOKKOS_TOOLS_LIBS. Only
 * regions are served: kernels would each need a fence, which costs the program its overlap.
 */
#include "section.h"

JE_EXPORT void kokkosp_push_profile_region(const char *label);
JE_EXPORT void kokkosp_pop_profile_region(void);
JE_EXPORT void kokkosp_request_tool_settings(uint32_t settings, bool *requires_global_fencing);

void kokkosp_push_profile_region(const char *label)
{
	je_section_push(
		je_label_of(label != NULL && label[0] != '\0' ? label : "(no label)", SIZE_MAX));
}

void kokkosp_pop_profile_region(void)
{
	je_section_pop();
}

/* Kokkos hands over 256 settings. It has given a meaning to the first one only. */
void kokkosp_request_tool_settings(uint32_t settings, bool *requires_global_fencing)
{
	if (settings > 0 && requires_global_fencing != NULL)
		*requires_global_fencing = false;
}
