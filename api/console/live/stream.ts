import { PassThrough, type Readable } from 'node:stream'
import { LIVE_TOPICS, type LiveTopic } from '../../../domain/durable/live.ts'
import type { SessionOwner } from '../../../domain/operators/session-owner.ts'
import type { LiveHub } from './hub.ts'

/** A proxy closes a connection on which nothing happens. */
const BEAT_MS = 15_000
/** A browser that does not read so much is gone. */
const MOST_UNREAD_BYTES = 64 * 1024

/** What changes, as Server-Sent Events. `names`: of topics, separated by commas; all of them unless given. */
export function liveStream(hub: LiveHub, owner: SessionOwner, names: string | undefined): Readable {
  const stream = new PassThrough()
  const write = (text: string) => {
    if (stream.writableLength > MOST_UNREAD_BYTES) stream.destroy()
    else if (!stream.writableEnded) stream.write(text)
  }
  const topics = new Set(names === undefined ? LIVE_TOPICS : (names.split(',') as LiveTopic[]))
  const leave = hub.watch({
    owner,
    topics,
    send: (topic, ids) => write(`data: ${JSON.stringify({ topic, ids })}\n\n`),
    // Called again where a browser does not read the end.
    end: () => void (stream.writableEnded ? stream.destroy() : stream.end()),
  })
  const beat = setInterval(() => write(': beat\n\n'), BEAT_MS).unref()
  stream.once('close', () => {
    clearInterval(beat)
    leave()
  })
  write('retry: 3000\n\n')
  return stream
}
