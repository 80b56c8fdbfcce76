import { useQueries } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useFolder } from '../../api/folder.ts'
import { get } from '../../api/request.ts'
import { State } from '../../parts/state.tsx'
import { PlainWords } from '../../text/plain-words.tsx'
import type { InputKind } from './send.ts'
import words from './turn-block.module.css'

/** An input that was accepted and is in no turn yet. */
interface SentInput {
  itemId: string
  content: string
  kind: InputKind
}

/** Inputs of this tab that wait for their turn; kept over a reload. */
export function useSentInputs(session: string): [SentInput[], (input: SentInput) => void] {
  const folder = useFolder()
  const key = `heddle.sent:${folder}:${session}`
  const [sent, setSent] = useState<SentInput[]>(() => JSON.parse(sessionStorage.getItem(key) ?? '[]'))
  const isWaiting = useQueries({
    queries: sent.map(({ itemId }) => ({
      // Read again with every change of a run.
      queryKey: ['runs', 'sent', itemId],
      queryFn: () => get<{ runId: string | null; status: string }>(`/v1/inputs/${itemId}/answer`, { folder }),
    })),
    combine: (results) => results.map(({ data, error }) => (data ? data.runId === null : error === null)),
  })
  const add = (input: SentInput) => {
    const next = [...sent.filter((_, at) => isWaiting[at]), input]
    setSent(next)
    sessionStorage.setItem(key, JSON.stringify(next))
  }
  return [sent.filter((_, at) => isWaiting[at] ?? true), add]
}

/** Inputs that wait until the session is free. */
export function WaitingInputs({ inputs }: { inputs: SentInput[] }): ReactNode {
  return inputs.map(({ itemId, content, kind }) => (
    <div key={itemId} className={words['you']}>
      <p className={words['who']}>
        you <State name="queued" word={kind === 'steer' ? 'reaches it at its next step' : 'is answered next'} />
      </p>
      <PlainWords text={content} isSerif />
    </div>
  ))
}
