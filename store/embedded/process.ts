import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { platform } from 'node:process'

/**
 * When a process began, in the system's own notation; undefined: there is none. Number and begin together name one process for ever:
 * numbers come again, in a container at every restart. A zombie counts as gone: where PID 1 reaps nobody it would stay for ever.
 */
export function bornAt(pid: number): string | undefined {
  if (platform === 'linux') {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return state === 'Z' || state === 'X' ? undefined : fields[18]
    } catch {
      return undefined
    }
  }
  const line = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim()
  return line === '' || line.startsWith('Z') ? undefined : line.replace(/^\S+\s+/, '').replace(/\W+/g, '_')
}
