import type { Customer, SegmentPreview } from '../../../../clients/typescript/src/index.ts'
import { Count } from '../../parts/amount.tsx'
import { Id } from '../../parts/copy.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { customerStatus } from '../../parts/statuses.ts'
import { counted, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'

/** How many, and whether that is all: the service counts no longer than a second. */
export function Size({ of: { size, is_exact } }: { of: Pick<SegmentPreview, 'size' | 'is_exact'> }) {
  if (size === null) return <span className="segment-size soft">{t('too many to look at in a second')}</span>
  return (
    <span className="segment-size">
      <b>
        <Count value={size} />
      </b>{' '}
      {is_exact ? (size === 1 ? t('person') : t('people')) : t('people or more')}
    </span>
  )
}

/** Some of the people, each with a link to the page of the person. */
export function People({ of: { people, size } }: { of: SegmentPreview }) {
  if (people === null) return <p className="segment-note">{t('Your role does not show who they are.')}</p>
  if (people.length === 0)
    return <p className="segment-note">{size === null ? t('Its people could not be looked up in a second.') : t('Nobody is in it now.')}</p>
  return (
    <>
      <ul className="segment-people" aria-label={t('People')}>
        {people.map(person => (
          <Person key={person.id} of={person} />
        ))}
      </ul>
      {size !== null && size > people.length && (
        <p className="segment-note">
          {size > 10_000
            ? counted(people.length, '{n} of them.', '{n} of them: the newest of the first 10,000 that were found.')
            : counted(people.length, '{n} of them: the newest one.', '{n} of them: the newest.')}
        </p>
      )}
    </>
  )
}

function Person({ of: one }: { of: Customer }) {
  const name = one.external_identity ?? one.custom_uid
  return (
    <li>
      <To to={`/customers/${encodeURIComponent(one.id)}`} className="segment-person">
        {name === null ? (
          <Id>{one.id}</Id>
        ) : (
          <bdi className="segment-person-name" title={name}>
            {name}
          </bdi>
        )}
      </To>
      <StatusChip {...customerStatus(one.status)} />
      <span className="segment-person-more">
        {[one.client_country, one.target_platform].filter(Boolean).map(text => (
          <span key={text}>{text}</span>
        ))}
        <span>
          {t('came')} <Time at={one.since} relative />
        </span>
      </span>
    </li>
  )
}
