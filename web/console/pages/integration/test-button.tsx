import { useWrite } from '../../data/write.ts'
import { Act } from '../../parts/act.tsx'
import { span } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'
import { errorText } from '../integrations/words.ts'

/** Sends a sample now, which is no delivery, and says what came back. */
export function TestButton({ id, denied }: { id: string; denied: string | undefined }) {
  const { send, isPending } = useWrite('v4TestIntegration')
  const test = () =>
    void send({ path: { integration_id: id } }).then(
      result => {
        if (!result) return
        const { ok, http_status, duration_ms, error } = result
        const status = http_status === null ? '' : ` ${http_status}`
        const time = span(duration_ms)
        say(
          ok
            ? t('The test was taken:{status} in {time}', { status, time })
            : t('The test failed: {why}, after {time}', { why: errorText(error ?? 'failed'), time }),
        )
      },
      (error: Error) => say(t('The test was not sent: {why}', { why: error.message })),
    )
  return (
    <Act denied={denied} size="xs" variant="default" loading={isPending} leftSection={<Icon name="bolt" size={14} />} onClick={test}>
      {t('Send a test')}
    </Act>
  )
}
