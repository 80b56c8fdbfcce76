import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useId, useState } from 'react'
import { useAgents } from '../../api/queries.ts'
import { post } from '../../api/request.ts'
import type { Task } from '../../api/wire.ts'
import { ActionForm } from '../../parts/action-form.tsx'
import { Button } from '../../parts/button.tsx'
import { PlainWords } from '../../text/plain-words.tsx'
import { withoutBidi } from '../../text/safe-text.ts'

/** Changes the brief or the agent of a task, and runs it again if that is asked for. */
export function BriefForm({ task, isRetry, onClose }: { task: Task; isRetry: boolean; onClose(): void }): ReactNode {
  const [seen, setSeen] = useState(task)
  const [context, setContext] = useState(seen.context)
  const [skill, setSkill] = useState(seen.skill)
  const { data: agents = [] } = useAgents()
  const list = useId()
  const queries = useQueryClient()
  const save = useMutation({
    mutationFn: () =>
      post(`/v1/tasks/${task.id}`, {
        action: isRetry ? 'retry' : 'edit',
        expectedBrief: seen.briefHash,
        ...(context !== seen.context && { context }),
        ...(skill !== seen.skill && { skill }),
      }),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['task', String(task.id)] })
      void queries.invalidateQueries({ queryKey: ['plan', String(task.planId)] })
      onClose()
    },
    // On a conflict the other change is read, and shown above this one.
    onError: () => queries.invalidateQueries({ queryKey: ['task', String(task.id)] }),
  })
  const isSame = context === seen.context && skill === seen.skill
  const isOutdated = task.briefHash !== seen.briefHash
  const see = () => {
    save.reset()
    setSeen(task)
  }
  const takeOther = () => {
    see()
    setContext(task.context)
    setSkill(task.skill)
  }
  return (
    <ActionForm
      request={save}
      action={isRetry ? 'Retry with this' : 'Save'}
      isEmpty={(isSame && !isRetry) || isOutdated}
      onClose={onClose}
    >
      {isOutdated && (
        <div role="alert" className="stack">
          <p>
            <strong>This task was changed while you wrote.</strong> It is now for @{withoutBidi(task.skill)}:
          </p>
          <PlainWords text={task.context} />
          <div className="row">
            <Button onClick={takeOther}>Take theirs</Button>
            <Button look="quiet" onClick={see}>
              Keep mine
            </Button>
          </div>
        </div>
      )}
      <label className="field">
        Brief
        <textarea
          rows={12}
          value={context}
          onChange={({ target }) => setContext(target.value)}
          required
          // biome-ignore lint/a11y/noAutofocus: the form was opened to type here
          autoFocus
        />
      </label>
      <label className="field">
        Agent
        <input value={skill} list={list} onChange={({ target }) => setSkill(target.value)} required />
      </label>
      <datalist id={list}>
        {agents.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </ActionForm>
  )
}
