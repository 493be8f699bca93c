import type { Environment } from '../../kernel/environment.ts'

/** The partitions of an environment's log. This number must never change: a user's events must stay in one partition. */
export const PARTITIONS = 64

/**
 * The 32-bit FNV-1a hash of environment and user; without a user, of environment and the caller's event id. So the events of one user are in
 * one partition, in its order.
 */
export function partitionOf(environment: Environment, subject: string): number {
  let hash = 0x811c9dc5
  const text = `${environment}:${subject}`
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i)
    hash = Math.imul(hash, 0x01000193)
  }
  // The low bits of FNV are its weakest bits, so the high bits are mixed in.
  return ((hash ^ (hash >>> 16)) >>> 0) % PARTITIONS
}
