import type { Context } from '../context.ts'
import { Problem } from '../errors.ts'

/** `allowed`: origins of browsers beside the service's own. */
export type GuardOptions = { publicUrl: string; allowed: readonly string[] }

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

const hostOf = (host: string) => (URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : null)

/**
 * Refuses what a page in a browser sends that is not the service's own: a page of another origin, or one that reaches the service under a name of
 * its own (DNS rebinding). Clients that are no browsers send no Origin.
 */
export function assertSameSite({ req, host: given }: Pick<Context, 'req' | 'host'>, { publicUrl, allowed }: GuardOptions): void {
  const own = new URL(publicUrl)
  const host = hostOf(given)
  // A service on this machine is reached by each of its names.
  const isOwn = host !== null && (host === own.hostname || (LOOPBACK.has(own.hostname) && LOOPBACK.has(host)))
  if (!isOwn) throw new Problem('control_forbidden', `the host must be ${own.host}`)
  const { origin } = req.headers
  // A page of this service, under whichever of its names.
  const isSame = origin !== undefined && URL.canParse(origin) && new URL(origin).host === given
  if (origin === undefined || isSame || origin === own.origin || allowed.includes(origin)) return
  throw new Problem('control_forbidden', 'this origin is not allowed: MCP_ALLOWED_ORIGINS lists those that are')
}
