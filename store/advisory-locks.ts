/** The first keys of all advisory locks, in one place: two locks with one number would block each other's work. The second key names the subject. */
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
  rates: 4_109,
  annotations: 4_110,
  views: 4_111,
  rebuild: 4_112,
  words: 4_113,
  storeSweep: 4_114,
  compaction: 4_130,
} as const
