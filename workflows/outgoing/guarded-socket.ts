import { connect, type Socket } from 'node:net'
import { type Guard, guardedLookup, refuseLiteral } from './guard.ts'

/**
 * An open TCP connection to an address that may be connected to; rejects with what went wrong, or with the signal's reason. The signal
 * goes on to end it as long as it is open.
 */
export async function guardedSocket(host: string, port: number, guard: Guard, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted()
  refuseLiteral(host, guard)
  const socket = connect({ host, port, lookup: guardedLookup(guard) })
  const end = () => socket.destroy()
  signal.addEventListener('abort', end, { once: true })
  socket.once('close', () => signal.removeEventListener('abort', end))
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve).once('error', reject)
    socket.once('close', () => reject(signal.aborted ? signal.reason : new Error('closed before it was open')))
  })
  return socket
}
