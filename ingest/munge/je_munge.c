#include "je_munge.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

/* enum munge_opt of munge.h */
enum { JE_OPT_TTL = 4, JE_OPT_ADDR4 = 5, JE_OPT_ENCODE_TIME = 6, JE_OPT_SOCKET = 8 };

static struct {
	void *(*ctx_create)(void);
	void (*ctx_destroy)(void *ctx);
	int (*ctx_set)(void *ctx, int opt, ...);
	int (*ctx_get)(void *ctx, int opt, ...);
	const char *(*ctx_strerror)(void *ctx);
	const char *(*strerror)(int code);
	int (*encode)(char **cred, void *ctx, const void *buf, int len);
	int (*decode)(const char *cred, void *ctx, void **buf, int *len, uid_t *uid, gid_t *gid);
} je_lib;

static int je_find(void *handle, const char *name, void *slot)
{
	void *symbol = dlsym(handle, name);

	memcpy(slot, &symbol, sizeof symbol);
	return symbol != NULL;
}

const char *je_munge_load(void)
{
	void *h = dlopen("libmunge.so.2", RTLD_NOW | RTLD_LOCAL);

	if (!h)
		return "libmunge.so.2 cannot be loaded";
	if (je_find(h, "munge_ctx_create", &je_lib.ctx_create) &&
	    je_find(h, "munge_ctx_destroy", &je_lib.ctx_destroy) &&
	    je_find(h, "munge_ctx_set", &je_lib.ctx_set) &&
	    je_find(h, "munge_ctx_get", &je_lib.ctx_get) &&
	    je_find(h, "munge_ctx_strerror", &je_lib.ctx_strerror) &&
	    je_find(h, "munge_strerror", &je_lib.strerror) &&
	    je_find(h, "munge_encode", &je_lib.encode) &&
	    je_find(h, "munge_decode", &je_lib.decode))
		return NULL;
	return "libmunge.so.2 lacks a function of munge 0.5";
}

/* Keeps the context's words for a failure, which die with the context. */
static void je_say(void *ctx, int code, char **why)
{
	const char *text = je_lib.ctx_strerror(ctx);

	*why = strdup(text ? text : je_lib.strerror(code));
}

static int je_context(const char *socket, int ttl_s, void **ctx)
{
	*ctx = je_lib.ctx_create();
	if (!*ctx)
		return JE_MUNGE_NO_CONTEXT;
	if (*socket && je_lib.ctx_set(*ctx, JE_OPT_SOCKET, socket))
		return JE_MUNGE_BAD_OPTION;
	if (ttl_s && je_lib.ctx_set(*ctx, JE_OPT_TTL, ttl_s))
		return JE_MUNGE_BAD_OPTION;
	return 0;
}

int je_munge_encode(const char *socket, int ttl_s, const void *payload, int length, char **cred,
		    char **why)
{
	void *ctx;
	int code = je_context(socket, ttl_s, &ctx);

	if (!code)
		code = je_lib.encode(cred, ctx, payload, length);
	if (code && ctx)
		je_say(ctx, code, why);
	if (ctx)
		je_lib.ctx_destroy(ctx);
	return code;
}

static void je_read_context(void *ctx, struct je_munge_cred *out)
{
	time_t encoded = 0;

	if (!je_lib.ctx_get(ctx, JE_OPT_ENCODE_TIME, &encoded))
		out->encoded_s = encoded;
	je_lib.ctx_get(ctx, JE_OPT_ADDR4, &out->addr4);
	je_lib.ctx_get(ctx, JE_OPT_TTL, &out->ttl_s);
}

int je_munge_decode(const char *socket, const char *cred, struct je_munge_cred *out, char **why)
{
	void *ctx;
	void *payload = NULL;
	int length = 0;
	uid_t uid = (uid_t)-1;
	gid_t gid = (gid_t)-1;
	int code = je_context(socket, 0, &ctx);

	if (!code)
		code = je_lib.decode(cred, ctx, &payload, &length, &uid, &gid);
	if (!code) {
		*out = (struct je_munge_cred){
			.uid = uid, .gid = gid, .payload = payload, .length = length
		};
		je_read_context(ctx, out);
	} else {
		free(payload);
		if (ctx)
			je_say(ctx, code, why);
	}
	if (ctx)
		je_lib.ctx_destroy(ctx);
	return code;
}
