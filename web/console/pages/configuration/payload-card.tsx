import { lazy, Suspense } from 'react'
import type { PayloadTypes, RemoteConfigurationDetail } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Icon } from '../../parts/icon.tsx'
import { readable } from '../../parts/json-text.tsx'
import { useKeys } from '../../parts/keys.ts'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { useKept } from './draft.ts'
import { type Payload, TYPES, typeOf } from './payload.ts'

const PayloadEditor = lazy(() => import('./payload-editor.tsx'))

/** The payload as the app gets it, key by key; edited in its place. */
export function PayloadCard({ of: configuration }: { of: RemoteConfigurationDetail }) {
  const [search, set] = useAddress()
  const role = useDenied('editor', usePlace()?.project)
  const denied = role ?? (configuration.status === 'archived' ? t('an archived configuration cannot be changed') : undefined)
  const path = { config_id: configuration.id }
  const mapping = useRead('v4GetRemoteConfigurationPayloadMapping', { path })
  const { kept } = useKept(configuration.id)
  const isEditing = search.edit === 'payload' && denied === undefined
  const edit = () => set({ edit: 'payload' }, { push: true })
  useKeys(denied === undefined && !isEditing ? { p: { says: t('Edit the payload'), run: edit } } : {})
  return (
    <Card
      title={t('Payload')}
      right={
        !isEditing && (
          <>
            <ShowTheCall name="v4GetRemoteConfigurationPayload" input={{ path }} />
            <Act denied={denied} size="xs" variant="default" onClick={edit}>
              {kept ? t('Go on editing') : t('Edit the payload')}
            </Act>
          </>
        )
      }
    >
      <DataState of={mapping} rows={4}>
        {({ data: types, config_id }) =>
          isEditing ? (
            <Suspense fallback={null}>
              <PayloadEditor
                key={config_id}
                id={configuration.id}
                stored={{ payload: configuration.payload, mapping: types }}
                onClose={() => set({ edit: undefined })}
              />
            </Suspense>
          ) : Object.keys(configuration.payload).length === 0 ? (
            <Empty
              icon="code"
              title={t('The payload is empty')}
              why={t('Apps that are served this configuration get an object without keys.')}
              action={
                <Act denied={denied} size="xs" onClick={edit}>
                  {t('Add the first key')}
                </Act>
              }
            />
          ) : (
            <Shown payload={configuration.payload} types={types} />
          )
        }
      </DataState>
    </Card>
  )
}

const Shown = ({ payload, types }: { payload: Payload; types: PayloadTypes }) => (
  <dl className="payload">
    {Object.entries(payload).map(([key, value]) => {
      const type = typeOf(value, types, key)
      return (
        <div key={key}>
          <dt>
            <code>{key}</code>
            <span className="faint">{t(TYPES[type])}</span>
          </dt>
          <dd>
            <Value value={value} type={type} />
          </dd>
        </div>
      )
    })}
  </dl>
)

function Value({ value, type }: { value: unknown; type: keyof typeof TYPES }) {
  switch (type) {
    case 'Bool':
      return (
        <span className="payload-flag">
          <Icon name={value ? 'check' : 'close'} size={14} />
          {value ? t('yes') : t('no')}
        </span>
      )
    case 'Color':
      return (
        <span className="payload-color">
          <i aria-hidden="true" style={{ backgroundColor: String(value) }} />
          <code>{String(value)}</code>
        </span>
      )
    case 'Number':
      return <span className="figure">{String(value)}</span>
    case 'String':
      return value === '' ? <span className="faint">{t('empty')}</span> : <bdi>{String(value)}</bdi>
    case 'Products':
    case 'Screens': {
      const ids = Array.isArray(value) ? value : [value]
      return ids.length === 0 ? <span className="faint">{t('none')}</span> : <code>{ids.join(', ')}</code>
    }
    default:
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard
        <pre tabIndex={0}>{readable(value)}</pre>
      )
  }
}
