import { type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { useFolder } from '../../api/folder.ts'
import { newKey, post } from '../../api/request.ts'
import type { CommandOutcome, Submitted } from '../../api/wire.ts'

/** Settings that commands such as /model gave this chat; `compact` counts for the next message. */
export type ChatVoice = NonNullable<CommandOutcome['voice']>

/** How an input reaches a session that is busy. */
export type InputKind = 'message' | 'steer' | 'interrupt'

interface Outgoing {
  content: string
  kind: InputKind
}

/** Sends inputs to a session. A message that is sent again after a lost answer is not stored twice. */
export function useSend(session: string, voice: ChatVoice): UseMutationResult<Submitted, Error, Outgoing> {
  const folder = useFolder()
  const queries = useQueryClient()
  const pending = useRef<{ text: string; key: string }>(undefined)
  return useMutation({
    mutationFn: ({ content, kind }: Outgoing) => {
      const text = `${kind}:${content}`
      if (pending.current?.text !== text) pending.current = { text, key: newKey() }
      const { model, thinking, compact } = voice
      return post<Submitted>('/v1/inputs', {
        folder,
        session,
        content,
        kind,
        attended: true,
        dedupeKey: pending.current.key,
        ...(model !== undefined && { model }),
        ...(thinking !== undefined && { thinking }),
        ...(compact && { compact }),
      })
    },
    onSuccess: () => {
      pending.current = undefined
      void queries.invalidateQueries({ queryKey: ['runs'] })
      void queries.invalidateQueries({ queryKey: ['sessions'] })
    },
  })
}

/** Carries out a chat command such as /status. */
export function useCommand(session: string, voice: ChatVoice): UseMutationResult<CommandOutcome, Error, string> {
  const folder = useFolder()
  const { model, thinking } = voice
  return useMutation({
    mutationFn: (line: string) =>
      post<CommandOutcome>('/v1/commands', {
        folder,
        line,
        session,
        ...(model !== undefined && { model }),
        ...(thinking !== undefined && { thinking }),
      }),
  })
}
