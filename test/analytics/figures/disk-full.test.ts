import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { sampled } from '../../harness/effort.ts'
import { launch } from '../../harness/process.ts'
import { sellingIn } from './coins.ts'
import type { FilledDisk } from './disk-full.ts'
import { settingWithReplicas } from './open-replicas.ts'

const setting = settingWithReplicas()
const { sell, readSales } = sellingIn(setting)

// A file system of the process alone: an account may make one, unless the system forbids it.
const ON_OWN_DISK = ['unshare', '-rm', 'sh', '-c', 'mount -t tmpfs -o size=32m none "$REPLICAS" && exec "$@"', 'sh']
const canMount = spawnSync('unshare', ['-rm', 'sh', '-c', 'mount -t tmpfs none /mnt']).status === 0
const canLimit = spawnSync('prlimit', ['--version']).status === 0

/** `full`: see disk-full.ts. 20,000 sales are 2 MB on their way to the file, and 4 MB in its log. */
// Deno does not ignore the signal that tells of a file too long, and what is ignored is inherited.
const IGNORES_SIGNAL = ['sh', '-c', 'trap "" XFSZ; exec "$@"', 'sh']

const DISKS: { name: string; full: string; under?: string[]; isPossible: boolean }[] = [
  { name: 'no room for an empty file', full: '4096', under: IGNORES_SIGNAL, isPossible: canLimit },
  { name: 'no room for rows on their way to the file', full: '524288', under: IGNORES_SIGNAL, isPossible: canLimit },
  { name: 'no room in the file', full: '3145728', under: IGNORES_SIGNAL, isPossible: canLimit },
  { name: 'no space left on the device', full: 'filled', under: ON_OWN_DISK, isPossible: canMount },
]

async function answer(phases: string, { full, under = [] }: (typeof DISKS)[number]): Promise<FilledDisk[]> {
  await sell(1)
  await readSales({ access: { ...setting.open().access, replicas: null } })
  const env = { DATABASE_URL: setting.api.databaseUrl, REPLICAS: setting.folder, ENVIRONMENT: String(setting.project.production) }
  const launched = launch({ script: 'test/analytics/figures/disk-full.ts', under, env: { ...env, FULL: full, PHASES: phases } })
  expect([await launched.ended, launched.output()]).toEqual([0, expect.stringMatching(/^\[.*\]\n$/)])
  const picked: FilledDisk[] = JSON.parse(launched.output())
  for (const { sums, truth } of picked) expect(new Set(sums)).toEqual(new Set([truth]))
  return picked
}

const BY_REPLICA = { by: 'replica' }
const BY_POSTGRES = { by: 'broken', isLogged: true, left: [] }

describe.each(sampled(DISKS))('$name', disk => {
  test.runIf(disk.isPossible)('Postgres answers, nothing is left of the file, and it is made when there is room', async () => {
    expect(await answer('full,full,room,room', disk)).toMatchObject([BY_POSTGRES, BY_POSTGRES, BY_REPLICA, BY_REPLICA])
  })

  test.runIf(disk.isPossible)('a file that served is given up, and made anew when there is room', async () => {
    expect(await answer('room,full,full,room', disk)).toMatchObject([BY_REPLICA, BY_POSTGRES, BY_POSTGRES, BY_REPLICA])
  })
})
