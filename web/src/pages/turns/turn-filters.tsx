import type { ReactNode } from 'react'
import type { TreeTurn } from '../../api/wire.ts'
import { withoutBidi } from '../../text/safe-text.ts'
import styles from './turns.module.css'

interface TurnFilter {
  text: string
  branch: string
  agent: string
  model: string
  isFailedOnly: boolean
  isWithAgents: boolean
}

export const noFilter: TurnFilter = {
  text: '',
  branch: '',
  agent: '',
  model: '',
  isFailedOnly: false,
  isWithAgents: false,
}

export function passes(turn: TreeTurn, { text, branch, agent, model, isFailedOnly }: TurnFilter): boolean {
  const words = text.trim().toLowerCase()
  return (
    (branch === '' || turn.branch === branch) &&
    (agent === '' || turn.agent === agent) &&
    (model === '' || turn.model === model) &&
    (!isFailedOnly || turn.status !== 'completed') &&
    (words === '' || `${turn.preview}\n${turn.answer}`.toLowerCase().includes(words))
  )
}

interface TurnFiltersProps {
  turns: readonly TreeTurn[]
  filter: TurnFilter
  onChange(filter: TurnFilter): void
}

/** Which turns to show; choices are what the turns have. */
export function TurnFilters({ turns, filter, onChange }: TurnFiltersProps): ReactNode {
  const change = (part: Partial<TurnFilter>) => onChange({ ...filter, ...part })
  return (
    <div className={styles['filters']}>
      <input
        type="search"
        aria-label="Words in the turn"
        placeholder="Words in the turn"
        value={filter.text}
        onChange={({ target }) => change({ text: target.value })}
      />
      <Choice
        name="session"
        all={turns.map(({ branch }) => branch)}
        value={filter.branch}
        onChange={(branch) => change({ branch })}
      />
      <Choice
        name="agent"
        all={turns.map(({ agent }) => agent)}
        value={filter.agent}
        onChange={(agent) => change({ agent })}
      />
      <Choice
        name="model"
        all={turns.map(({ model }) => model)}
        value={filter.model}
        onChange={(model) => change({ model })}
      />
      <label>
        <input
          type="checkbox"
          checked={filter.isFailedOnly}
          onChange={({ target }) => change({ isFailedOnly: target.checked })}
        />{' '}
        not completed
      </label>
      <label>
        <input
          type="checkbox"
          checked={filter.isWithAgents}
          onChange={({ target }) => change({ isWithAgents: target.checked })}
        />{' '}
        agents’ own
      </label>
    </div>
  )
}

interface ChoiceProps {
  name: string
  all: (string | null)[]
  value: string
  onChange(value: string): void
}

function Choice({ name, all, value, onChange }: ChoiceProps): ReactNode {
  const choices = [...new Set(all)].filter((each) => each !== null)
  if (choices.length < 2 && value === '') return null
  return (
    <select aria-label={`Only this ${name}`} value={value} onChange={({ target }) => onChange(target.value)}>
      <option value="">every {name}</option>
      {choices.map((each) => (
        <option key={each} value={each}>
          {withoutBidi(each)}
        </option>
      ))}
    </select>
  )
}
