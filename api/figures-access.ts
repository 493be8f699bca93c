import { createHash, timingSafeEqual } from 'node:crypto'

/** Who sees metrics and the details of readiness: everybody who reaches the port, nobody, or clients that send the token. */
export type FiguresAccess = 'open' | 'closed' | { token: string }

const digest = (text: string) => createHash('sha256').update(text).digest()

/** Whether the header `Authorization` gives access to the figures. */
export function opensFigures(access: FiguresAccess, authorization: string): boolean {
  if (typeof access === 'string') return access === 'open'
  const given = /^bearer +(\S+)$/i.exec(authorization)?.[1]
  return given !== undefined && timingSafeEqual(digest(given), digest(access.token))
}
