import { NativeSelect, TextInput } from '@mantine/core'
import { t } from '../../parts/t.ts'
import type { Draft } from './draft.ts'
import { durationText, isSubscription, STORES, TYPES, type Type } from './words.ts'

const PERIODS = ['P1W', 'P1M', 'P2M', 'P3M', 'P6M', 'P1Y']
const OTHER = 'other'

type Props = { draft: Draft; change: (more: Partial<Draft>) => void; faultOf: (field: string) => string | undefined }

/** Type and period of a product, and its ids in the stores. */
export function ProductFields({ draft, change, faultOf }: Props) {
  return (
    <>
      <div className="catalogue-pair">
        <NativeSelect
          label={t('Type')}
          data={[
            ...(draft.type === '' ? [{ value: '', label: t('No type') }] : []),
            ...Object.entries(TYPES).map(([value, label]) => ({ value, label: t(label) })),
          ]}
          value={draft.type}
          error={faultOf('type')}
          onChange={({ currentTarget: { value } }) =>
            change({ type: value as Type, ...(isSubscription(value) && draft.duration === '' && { duration: 'P1M' }) })
          }
        />
        {(draft.type === '' || isSubscription(draft.type)) && <Period draft={draft} change={change} fault={faultOf('duration')} />}
      </div>
      <fieldset className="catalogue-stores">
        <legend>{t('Its ids in the stores')}</legend>
        <p className="soft">{t('Empty where it is not sold. Purchases are looked up by them when they are needed, earlier ones too.')}</p>
        {STORES.map(({ field, text }) => (
          <div key={field} className={field === 'google_product_id' ? 'catalogue-pair' : undefined}>
            <TextInput
              label={text}
              value={draft[field]}
              maxLength={255}
              spellCheck={false}
              autoComplete="off"
              error={faultOf(field)}
              onChange={({ currentTarget: { value } }) => change({ [field]: value })}
            />
            {field === 'google_product_id' && (
              <TextInput
                label={t('Base plan')}
                placeholder={t('every one')}
                value={draft.google_base_plan_id}
                maxLength={255}
                spellCheck={false}
                autoComplete="off"
                error={faultOf('google_base_plan_id')}
                onChange={({ currentTarget: { value } }) => change({ google_base_plan_id: value })}
              />
            )}
          </div>
        ))}
      </fieldset>
    </>
  )
}

function Period({ draft, change, fault }: { draft: Draft; change: Props['change']; fault: string | undefined }) {
  const isOther = draft.duration !== '' && !PERIODS.includes(draft.duration)
  return (
    <div className="catalogue-period">
      <NativeSelect
        label={t('Period')}
        data={[
          ...(draft.type === '' ? [{ value: '', label: t('none') }] : []),
          ...PERIODS.map(value => ({ value, label: durationText(value) })),
          { value: OTHER, label: t('another one') },
        ]}
        value={isOther ? OTHER : draft.duration}
        error={isOther ? undefined : fault}
        onChange={({ currentTarget: { value } }) => change({ duration: value === OTHER ? 'P' : value })}
      />
      {isOther && (
        <TextInput
          aria-label={t('Period as ISO 8601')}
          description={t('Such as P14D for two weeks, P18M for 18 months')}
          value={draft.duration}
          maxLength={20}
          spellCheck={false}
          error={fault}
          onChange={({ currentTarget: { value } }) => change({ duration: value.toUpperCase() || 'P' })}
        />
      )}
    </div>
  )
}
