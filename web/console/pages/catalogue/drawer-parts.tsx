import type { ReactNode } from 'react'
import { Act } from '../../parts/act.tsx'
import { useKeys } from '../../parts/keys.ts'
import { t } from '../../parts/t.ts'
import { UsedBy, type Uses } from '../../parts/used-by.tsx'
import type { DrawerOf } from './over.tsx'

export const Section = ({ title, children }: { title: string; children: ReactNode }) => (
  <section className="catalogue-section" aria-label={title}>
    <h3>{title}</h3>
    {children}
  </section>
)

/** Edit and delete, as buttons and as the key `e`. */
export function Acts({ denied, onOver, children }: Pick<DrawerOf, 'denied' | 'onOver'> & { children?: ReactNode }) {
  useKeys(denied === undefined ? { e: { says: t('Edit'), run: () => onOver('edit') } } : {})
  return (
    <div className="catalogue-acts">
      <Act denied={denied} size="xs" variant="default" onClick={() => onOver('edit')}>
        {t('Edit')}
      </Act>
      {children}
      <Act denied={denied} size="xs" variant="default" className="catalogue-delete" onClick={() => onOver('delete')}>
        {t('Delete')}
      </Act>
    </div>
  )
}

export const UsedBySection = ({ of, none }: { of: Uses; none: string }) => (
  <Section title={t('Used by')}>
    <UsedBy of={of} none={none} />
  </Section>
)
