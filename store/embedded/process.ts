import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { platform } from 'node:process'

/**
 * The start of a process, in the notation of the system; undefined: there is no such process. Number and start together identify one
 * process: the system reuses numbers, a container at every restart. A zombie counts as ended: where PID 1 reaps no process, a zombie stays.
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
