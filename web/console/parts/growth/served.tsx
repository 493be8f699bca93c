import './growth.css'
import { NativeSelect, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { UserRemoteConfiguration } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import type { ApiError } from '../../data/api-error.ts'
import { callOf, type Input, type Result } from '../../data/operations.ts'
import { addressOf, usePlace } from '../../data/place.ts'
import { request } from '../../data/request.ts'
import { useDenied } from '../../data/session.ts'
import { Id } from '../copy.tsx'
import { DataState } from '../data-state.tsx'
import { Drawer } from '../drawer.tsx'
import { Icon } from '../icon.tsx'
import { JsonText } from '../json-text.tsx'
import { PersonFilter } from '../person-filter.tsx'
import { ShowTheCall } from '../show-the-call.tsx'
import { StatusChip } from '../status-chip.tsx'
import { t } from '../t.ts'
import { To } from '../to.tsx'
import { contextText } from './words.ts'

const NAME = 'v4EvaluateUserRemoteConfigurations'
type Asked = Input<typeof NAME>
type Attributes = NonNullable<NonNullable<Asked['body']>['attributes']>

/** Decides as for an app and records nothing. */
function useServed(input: Asked | undefined) {
  const place = usePlace()
  return useQuery<Result<typeof NAME>, ApiError>({
    queryKey: [place, NAME, 'dry-run', input],
    enabled: place !== undefined && input !== undefined,
    staleTime: 0,
    gcTime: 0,
    queryFn: ({ signal }) => {
      const { method, path } = callOf(NAME, input!)
      return request(`${addressOf(place!)}${path}`, { method, body: input!.body, signal })
    },
  })
}

/** What the app of a person would be served now. `contextKey`: what the page is about; the others can be asked for, too. */
export default function Served({ contextKey, onClose }: { contextKey: string | null; onClose: () => void }) {
  const [search, set] = useAddress()
  const denied = useDenied('editor', usePlace()?.project)
  const [attributes, setAttributes] = useState<Attributes>({})
  const [all, setAll] = useState(false)
  const country = attributes.country ?? ''
  const given = {
    ...(attributes.target_platform && { target_platform: attributes.target_platform }),
    ...(/^[A-Za-z]{2}$/.test(country) && { country }),
    ...(attributes.app_version && { app_version: attributes.app_version }),
  }
  const person = search.person
  const body = { ...(!all && { context_keys: [contextKey] }), attributes: given, dry_run: true }
  const input = person === undefined ? undefined : { path: { user_id: person }, body }
  const read = useServed(denied === undefined ? input : undefined)
  return (
    <Drawer title={t('What would this person get?')} onClose={onClose}>
      <div className="form growth-form">
        <p className="growth-note">{t('Decided as for the app of the person, at this moment; nothing is recorded.')}</p>
        {denied !== undefined && (
          <p className="notice warn">
            <Icon name="info" />
            {t('It {reason}: the operation may also assign people.', { reason: denied })}
          </p>
        )}
        <PersonFilter name={t('Person')} onFind={id => set({ person: id })} />
        <div className="growth-fields">
          <NativeSelect
            size="xs"
            label={t('As if on')}
            data={[
              { value: '', label: t('the last known platform') },
              ...(['iOS', 'Android', 'Stripe', 'Paddle'] as const).map(one => ({ value: one as string, label: one as string })),
            ]}
            value={attributes.target_platform ?? ''}
            onChange={({ currentTarget: { value } }) => setAttributes(last => ({ ...last, target_platform: value as 'iOS' }))}
          />
          <TextInput
            size="xs"
            label={t('As if in')}
            placeholder={t('the last known country')}
            maxLength={2}
            value={country}
            error={country.length === 2 && !/^[A-Za-z]{2}$/.test(country)}
            onChange={({ currentTarget: { value } }) => setAttributes(last => ({ ...last, country: value }))}
          />
          <TextInput
            size="xs"
            label={t('As if with version')}
            placeholder={t('the last known one')}
            maxLength={64}
            value={attributes.app_version ?? ''}
            onChange={({ currentTarget: { value } }) => setAttributes(last => ({ ...last, app_version: value }))}
          />
        </div>
        <div className="filters">
          <button type="button" className={all ? 'chip' : 'chip on'} aria-pressed={!all} onClick={() => setAll(false)}>
            <span className="chip-text" title={contextText(contextKey)}>
              {contextText(contextKey)}
            </span>
          </button>
          <button type="button" className={all ? 'chip on' : 'chip'} aria-pressed={all} onClick={() => setAll(true)}>
            {t('Every context key')}
          </button>
          <span className="grow" />
          {input && <ShowTheCall name={NAME} input={input} />}
        </div>
      </div>
      {input === undefined || denied !== undefined ? (
        <p className="growth-note">{t('Find a person by id, identity, e-mail address or transaction.')}</p>
      ) : (
        <>
          <p>
            <To to={`/customers/${encodeURIComponent(input.path.user_id)}`} className="link">
              <Id>{input.path.user_id}</Id>
            </To>
          </p>
          <DataState
            of={read}
            isEmpty={({ data }) => data.length === 0}
            empty={
              <p className="growth-note">{t('No configuration is active, and no experiment runs: every app gets an empty payload.')}</p>
            }
          >
            {({ data }) => data.map(one => <OneKey key={one.context_key ?? ''} of={one} />)}
          </DataState>
        </>
      )}
    </Drawer>
  )
}

function OneKey({ of: { context_key, payload, source, experiment } }: { of: UserRemoteConfiguration }) {
  const pinned = source?.assignment_type === 'manual'
  return (
    <section className="served">
      <div className="served-head">
        <h3>{context_key === null || context_key === '' ? t('Without a context key') : <code>{context_key}</code>}</h3>
        {source === null && experiment === null && <StatusChip status="nothing" label={t('Nothing applies')} />}
        {pinned && <StatusChip status="pinned" tone="info" label={t('Pinned')} />}
      </div>
      {experiment && (
        <p>
          {t('In the experiment')}{' '}
          <To to={`/experiments/${experiment.uid}`} className="link">
            <bdi>{experiment.name}</bdi>
          </To>
          , {experiment.group.type === 'control' ? t('control group') : t('group')}{' '}
          <bdi>
            <b>{experiment.group.name ?? experiment.group.uid}</b>
          </bdi>
          {experiment.group.offering && (
            <>
              , {t('with the products')} <bdi>{experiment.group.offering.product_ids.join(', ')}</bdi>
            </>
          )}
        </p>
      )}
      {source ? (
        <p>
          {t('Payload of')}{' '}
          <To to={`/configurations/${source.uid}`} className="link">
            <bdi>{source.name}</bdi>
          </To>
        </p>
      ) : (
        <p className="soft">{t('No configuration applies: the payload is empty.')}</p>
      )}
      <JsonText value={payload} name={t('Payload {key}', { key: contextText(context_key) })} />
    </section>
  )
}
