import type { ReactNode } from 'react'
import { Button } from '../../parts/button.tsx'

const examples = ['survey this folder', 'survey and report per part', 'find "TODO" in .']

/** Three things that work without a model, too. */
export function StarterExamples({ onChoose }: { onChoose(text: string): void }): ReactNode {
  return (
    <div className="row">
      {examples.map((text) => (
        <Button key={text} onClick={() => onChoose(text)}>
          {text}
        </Button>
      ))}
    </div>
  )
}
