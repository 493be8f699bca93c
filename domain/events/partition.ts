import type { Environment } from '../environment.ts'

/** Partitions of an environment's log. Never changes: a user's events must stay in one partition. */
export const PARTITIONS = 64

/** FNV-1a (32 bit) of environment and user (without user: the caller's event id), so that the order of one user's events is one partition's order. */
export function partitionOf(environment: Environment, subject: string): number {
  let hash = 0x811c9dc5
  const text = `${environment}:${subject}`
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i)
    hash = Math.imul(hash, 0x01000193)
  }
  // The low bits of FNV are its weakest: fold the high ones in.
  return ((hash ^ (hash >>> 16)) >>> 0) % PARTITIONS
}
