import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { getuid } from 'node:process'
import { createInterface } from 'node:readline'
import { say } from '../report.ts'
import type { Resources } from '../resources.ts'

/** A program is missing that npm cannot install. The message is the line to print before exit 1. */
class Missing extends Error {
  override name = 'Missing'
}

const isInstalled = () => spawnSync('psql', ['--version']).status === 0

/** The embedded Postgres has no psql. As root on Debian this installs the package; elsewhere it throws `Missing`. */
export function needPsql(): void {
  if (isInstalled()) return
  if (getuid?.() === 0 && spawnSync('apt-get', ['--version']).status === 0) {
    say('installing postgresql-client for psql')
    spawnSync('sh', ['-c', 'apt-get update -q && apt-get install -y -q --no-install-recommends postgresql-client'], {
      stdio: ['ignore', 2, 2],
    })
  }
  if (!isInstalled())
    throw new Missing(
      'psql is missing, the peer of this bench: install it (Debian: apt-get install postgresql-client) and run the bench again',
    )
}

/** A connected psql that waits for commands, so that only the command itself is timed. */
export class Psql {
  readonly #child: ChildProcessWithoutNullStreams
  #output = ''
  #wake = () => {}

  constructor(resources: Resources, url: string) {
    this.#child = spawn('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', url], {
      env: { ...process.env, PGOPTIONS: '-c timezone=UTC -c datestyle=ISO' },
    })
    resources.undo(async () => void this.#child.kill('SIGKILL'))
    this.#child.stdin.on('error', () => {})
    for (const stream of [this.#child.stdout, this.#child.stderr])
      createInterface({ input: stream }).on('line', line => {
        this.#output += `${line}\n`
        this.#wake()
      })
    this.#child.once('exit', () => {
      this.#output += 'psql ended\n'
      this.#wake()
    })
  }

  /** Returns the seconds that the command took. A backslash command must be one line. */
  async run(command: string): Promise<number> {
    this.#output = ''
    const began = performance.now()
    this.#child.stdin.write(`${command}\n\\echo over\n`)
    while (!this.#output.includes('over\n')) {
      if (this.#output.includes('psql ended\n')) throw new Error(this.#output)
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
    return (performance.now() - began) / 1000
  }

  end(): void {
    this.#child.stdin.end('\\q\n')
  }
}
