import { useEffect, useState } from 'react'
import { useRead } from '../data/read.ts'
import { count } from '../parts/format.ts'
import { counted } from '../parts/t.ts'

/** A page asks for its own content first. */
const AFTER = 2_000

/** How many promises are overdue, in red; nothing while there are none. */
export function Overdue() {
  const [begun, setBegun] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setBegun(true), AFTER)
    return () => clearTimeout(timer)
  }, [])
  const { data } = useRead('v4GetHealth', {}, { every: 60_000, when: begun })
  const overdue = data?.data.find(({ figure }) => figure === 'overdue')?.count ?? 0
  if (overdue === 0) return null
  return (
    <span className="nav-count">
      <span aria-hidden="true">{count(overdue)}</span>
      <span className="unseen">{counted(overdue, '{n} is overdue', '{n} are overdue')}</span>
    </span>
  )
}
