import { Button, Textarea, TextInput } from '@mantine/core'
import type { ApiError } from '../../data/api-error.ts'
import { useRead } from '../../data/read.ts'
import { Icon } from '../../parts/icon.tsx'
import { Pick } from '../../parts/pick.tsx'
import { t } from '../../parts/t.ts'
import { type Draft, isNameless, twice } from './draft.ts'

type Props = { draft: Draft; error: ApiError | null; onType: (change: Partial<Draft>) => void }

/** So many entries may go to the app. */
const MOST_DATA = 20

/** Everything of a push that can be typed. */
export function Fields({ draft, error, onType }: Props) {
  const faultOf = (field: string) => error?.details.find(detail => detail.field === field || detail.field?.startsWith(`${field}.`))?.message
  return (
    <>
      <TextInput
        label={t('Name')}
        description={t('For you; nobody else sees it.')}
        required
        maxLength={255}
        value={draft.name}
        error={faultOf('name')}
        onChange={({ currentTarget }) => onType({ name: currentTarget.value })}
      />
      <TextInput
        label={t('Title')}
        maxLength={255}
        value={draft.title}
        error={faultOf('title')}
        onChange={({ currentTarget }) => onType({ title: currentTarget.value })}
      />
      <Textarea
        label={t('Text')}
        required
        autosize
        minRows={3}
        maxRows={10}
        maxLength={2000}
        value={draft.body}
        error={faultOf('body')}
        onChange={({ currentTarget }) => onType({ body: currentTarget.value })}
      />
      <p className="push-hint">
        {t('In title and text each person has their own value for')} <code>{'{{property.KEY}}'}</code>,{' '}
        <code>{'{{user.identity_id}}'}</code>, <code>{'{{event.product_id}}'}</code>. {t('What is not known is left empty.')}
      </p>
      <TextInput
        label={t('A tap leads to')}
        placeholder="myapp://offers/spring"
        maxLength={2048}
        value={draft.deep_link}
        error={faultOf('deep_link')}
        onChange={({ currentTarget }) => onType({ deep_link: currentTarget.value })}
      />
      <TextInput
        label={t('Picture')}
        description={t('An address that phones fetch. It is not fetched here.')}
        maxLength={2048}
        value={draft.image_url}
        error={faultOf('image_url')}
        onChange={({ currentTarget }) => onType({ image_url: currentTarget.value })}
      />
      <Through draft={draft} error={faultOf('integration_id')} onType={onType} />
      <DataRows data={draft.data} error={faultOf('data')} onChange={data => onType({ data })} />
    </>
  )
}

/** The providers that send pushes. */
const SENDERS = ['onesignal', 'firebase']

/** The integrations that a push can name; undefined while they are not read. */
export function useSenders() {
  const { data, error } = useRead('v4ListIntegrations', {})
  return { senders: data?.data.filter(({ integration }) => SENDERS.includes(integration.toLowerCase())), error }
}

function Through({ draft, error, onType }: { draft: Draft; error: string | undefined; onType: Props['onType'] }) {
  const { senders = [], error: unread } = useSenders()
  const chosen = draft.integration_id
  const byItself = t('Chosen for each person when it is sent')
  const options = senders.map(({ id, title, integration }) => ({ code: id, label: `${title} (${integration})` }))
  return (
    <div>
      <p className="form-label">{t('Sent through')}</p>
      <Pick
        wide
        icon="plug"
        name={t('Sent through')}
        text={chosen === null ? byItself : (options.find(({ code }) => code === chosen)?.label ?? chosen)}
        options={[{ code: '', label: byItself }, ...options]}
        chosen={[chosen ?? '']}
        onPick={code => onType({ integration_id: code === '' ? null : code })}
      />
      {unread && <p className="push-fault">{t('The integrations could not be read: {why}', { why: unread.message })}</p>}
      {error && (
        <p className="push-fault" role="alert">
          {error}
        </p>
      )}
    </div>
  )
}

function DataRows({ data, error, onChange }: { data: Draft['data']; error: string | undefined; onChange: (data: Draft['data']) => void }) {
  const put = (at: number, row: readonly [string, string]) => onChange(data.map((one, n) => (n === at ? row : one)))
  const double = twice(data)
  return (
    <fieldset className="push-data">
      <legend className="form-label">{t('Data for the app')}</legend>
      {data.map(([key, value], at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the key of a row is being typed
        <div key={at} className="push-data-row">
          <TextInput
            aria-label={t('Name {n}', { n: at + 1 })}
            placeholder={t('name')}
            value={key}
            error={
              isNameless([key, value])
                ? t('A name is needed.')
                : double !== undefined && key.trim() === double
                  ? t('It stands here twice.')
                  : undefined
            }
            onChange={({ currentTarget }) => put(at, [currentTarget.value, value])}
          />
          <TextInput
            aria-label={t('Value {n}', { n: at + 1 })}
            placeholder={t('value')}
            maxLength={1024}
            value={value}
            onChange={({ currentTarget }) => put(at, [key, currentTarget.value])}
          />
          <button
            type="button"
            className="icon-button"
            aria-label={t('Take {name} away', { name: key || at + 1 })}
            onClick={() => onChange(data.filter((_, n) => n !== at))}
          >
            <Icon name="close" size={14} />
          </button>
        </div>
      ))}
      {error && (
        <p className="push-fault" role="alert">
          {error}
        </p>
      )}
      <span>
        <Button size="xs" variant="default" disabled={data.length >= MOST_DATA} onClick={() => onChange([...data, ['', '']])}>
          {t('Add an entry')}
        </Button>
      </span>
    </fieldset>
  )
}
