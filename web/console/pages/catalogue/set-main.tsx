import { useOne, useWrite } from '../../data/write.ts'
import { Act } from '../../parts/act.tsx'
import { useLook } from '../../parts/meanwhile.tsx'
import { t } from '../../parts/t.ts'
import { say, sayWithUndo } from '../../parts/undo.tsx'

/** Makes an offering the main one, at once and with a way back to the one that was it before. */
export function SetMain({ id, denied, small }: { id: string; denied: string | undefined; small?: boolean }) {
  const look = useLook('v4ListOfferings', { query: { limit: 100 } })
  const { send, isPending } = useWrite('v4SetMainOffering', { changes: ['v4ListOfferings', 'v4GetOffering', 'v4GetProduct'] })
  const mainNow = async () => (await look()).data.find(({ tag }) => tag === 1)?.id
  const act = useOne(async () => {
    try {
      const before = await mainNow()
      await send({ path: { offering_id: id } })
      if (before === undefined || before === id) return say(t('{id} is the main offering', { id }))
      sayWithUndo(t('{id} is the main offering', { id }), async () => {
        if ((await mainNow()) !== id) throw new Error(t('somebody has made another one the main offering meanwhile'))
        await send({ path: { offering_id: before } })
      })
    } catch (error) {
      say(t('It is not the main offering: {why}', { why: (error as Error).message }))
    }
  })
  return (
    <Act denied={denied} size={small ? 'compact-xs' : 'xs'} variant="default" loading={isPending} onClick={() => void act()}>
      {t('Set main')}
    </Act>
  )
}
