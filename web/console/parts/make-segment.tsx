import { Button, TextInput } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { type AnyInput, addressOfCall, type Input } from '../data/operations.ts'
import { usePlace } from '../data/place.ts'
import { request } from '../data/request.ts'
import { useOne, useWrite } from '../data/write.ts'
import { Fault } from './fault.tsx'
import { Send } from './send.tsx'
import { counted, t } from './t.ts'
import { useGo } from './to.tsx'
import { say } from './undo.tsx'

/** A list of a segment takes no more people, and this asks no more pages for them. */
const MOST_PEOPLE = 10_000
const MOST_PAGES = 500

type ListName = 'v4ListAnalyticsChartFacts' | 'v4ListAnalyticsCohortPeople'
type Row = { customer_uid: string | null; role?: string }
type Page = { data: readonly Row[]; has_more: boolean; next_cursor?: string | null }
type Found = { people: Set<string>; rows: number; isCut: boolean }

/** Of a ratio, the people of its numerator or denominator alone. */
export type Side = 'numerator' | 'denominator'

type Props<Name extends ListName> = {
  /** The list whose people it has. */
  from: Name
  input: Input<Name>
  name: string
  side?: Side | undefined
  onClose: () => void
}

/** Makes a segment of the people behind a number: reads who they are, page after page, and stores them as a list. */
export default function MakeSegment<Name extends ListName>({ from, input, name: first, side, onClose }: Props<Name>) {
  const place = usePlace()
  const go = useGo()
  const [name, setName] = useState(first.slice(0, 256))
  const [found, setFound] = useState<Found>()
  const [failed, setFailed] = useState<unknown>()
  const [isReading, setReading] = useState(false)
  const stopped = useRef(false)
  // The drawer may be closed beside this form: what nobody waits for any more is not made, and leads nowhere.
  useEffect(
    () => () => {
      stopped.current = true
    },
    [],
  )
  // Read once: after no answer the same people are sent again, with the same key, and not a second segment.
  const whole = useRef<Found>(undefined)
  const { send, isPending, error } = useWrite('v4CreateSegment', { changes: ['v4ListSegments'] })

  async function read(): Promise<Found> {
    const so: Found = { people: new Set(), rows: 0, isCut: false }
    let after: string | undefined
    for (let pages = 0; !stopped.current; pages++) {
      const { query, ...rest } = input as AnyInput
      const asked = { ...rest, query: { ...query, limit: 100, ...(after !== undefined && { starting_after: after }) } }
      const { data, has_more, next_cursor } = await request<Page>(addressOfCall(place!, from, asked), { method: 'GET' })
      for (const { customer_uid, role } of data)
        if (customer_uid !== null && (side === undefined || role === side)) so.people.add(customer_uid)
      so.rows += data.length
      so.isCut = so.people.size > MOST_PEOPLE || (has_more && pages + 1 >= MOST_PAGES)
      setFound({ ...so })
      if (!has_more || !next_cursor || so.isCut) break
      after = next_cursor
    }
    return so
  }

  const make = useOne(async () => {
    setFailed(undefined)
    setReading(true)
    stopped.current = false
    try {
      const found = whole.current ?? (await read())
      const { people, isCut } = found
      if (stopped.current || isCut || people.size === 0) return
      whole.current = found
      const made = await send({ body: { name: name.trim(), conditions: [], user_ids: [...people] } })
      say(counted(people.size, 'A segment of {n} person is made', 'A segment of {n} people is made'))
      if (!stopped.current) go({ to: `/segments/${made.id}` })
    } catch (failure) {
      setFailed(failure)
    } finally {
      setReading(false)
    }
  })
  const close = () => {
    stopped.current = true
    onClose()
  }
  return (
    <form
      className="make-segment"
      onKeyDown={event => {
        if (event.key !== 'Escape') return
        // The drawer behind stays open.
        event.preventDefault()
        close()
      }}
      onSubmit={event => {
        event.preventDefault()
        if (name.trim() !== '') void make()
      }}
    >
      <TextInput
        size="xs"
        label={t('Name of the segment')}
        value={name}
        required
        maxLength={256}
        data-autofocus
        autoFocus
        error={error?.details.find(({ field }) => field === 'name')?.message}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
      <p className="soft" role="status">
        <Progress found={found} isReading={isReading} />
      </p>
      {failed !== undefined && <Fault error={failed} />}
      <div className="form-actions">
        <Button size="xs" variant="default" onClick={close}>
          {t('Cancel')}
        </Button>
        <Send size="xs" loading={isReading || isPending} disabled={name.trim() === '' || found?.isCut}>
          {t('Make it')}
        </Send>
      </div>
    </form>
  )
}

function Progress({ found, isReading }: { found: Found | undefined; isReading: boolean }) {
  if (found === undefined) return t('Its list has everybody behind this number as of now, at most 10,000 people. Later ones do not join.')
  if (found.isCut) return t('There are more than one list takes. A shorter time, a filter or a series has fewer.')
  if (isReading) return counted(found.people.size, '{n} person found so far…', '{n} people found so far…')
  return found.people.size === 0
    ? t('Nobody is behind this number who is still here.')
    : counted(found.people.size, '{n} person', '{n} people')
}
