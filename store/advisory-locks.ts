/** Classes of the advisory locks, all in one place: two of one number would hold up each other's work. The second key says about what. */
export const LOCK = {
  bootstrap: 4_100,
  creation: 4_101,
  erasure: 4_102,
  ingestion: 4_103,
  advance: 4_104,
  mainOffering: 4_105,
  evaluation: 4_106,
  watchdog: 4_107,
  sweep: 4_108,
} as const
