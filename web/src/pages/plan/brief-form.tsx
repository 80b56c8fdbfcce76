import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useId, useState } from 'react'
import { useFolder } from '../../api/folder.ts'
import { get, post } from '../../api/request.ts'
import type { Task } from '../../api/wire.ts'
import { ActionForm } from '../../parts/action-form.tsx'

/** Changes the brief or the agent of a task, and runs it again if that is asked for. */
export function BriefForm({ task, isRetry, onClose }: { task: Task; isRetry: boolean; onClose(): void }): ReactNode {
  const [context, setContext] = useState(task.context)
  const [skill, setSkill] = useState(task.skill)
  const agents = useAgentNames()
  const list = useId()
  const queries = useQueryClient()
  const save = useMutation({
    mutationFn: () =>
      post(`/v1/tasks/${task.id}`, {
        action: isRetry ? 'retry' : 'edit',
        ...(context !== task.context && { context }),
        ...(skill !== task.skill && { skill }),
      }),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['task', String(task.id)] })
      void queries.invalidateQueries({ queryKey: ['plan', String(task.planId)] })
      onClose()
    },
  })
  const isSame = context === task.context && skill === task.skill
  return (
    <ActionForm
      request={save}
      action={isRetry ? 'Retry with this' : 'Save'}
      isEmpty={isSame && !isRetry}
      onClose={onClose}
    >
      <label className="field">
        Brief
        <textarea rows={12} value={context} onChange={({ target }) => setContext(target.value)} required />
      </label>
      <label className="field">
        Agent
        <input value={skill} list={list} onChange={({ target }) => setSkill(target.value)} required />
      </label>
      <datalist id={list}>
        {agents.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </ActionForm>
  )
}

function useAgentNames(): string[] {
  const folder = useFolder()
  const { data } = useQuery({
    queryKey: ['agents', folder],
    queryFn: ({ signal }) => get<{ agents: { name: string }[] }>('/v1/agents', { folder }, signal),
  })
  return data?.agents.map(({ name }) => name) ?? []
}
