import { presentTools } from '../domain/tool-names.ts'

/** A new agent for its owner to fill in: valid as it stands, with a word on each line. */
export function agentTemplate(name: string): string {
  return `---
name: ${name}
# One sentence: what it does and when to use it. Work is handed out by this line.
description: Answers questions about this project from its files.
# Words that should make one think of it.
triggers: [how does, where is]
# Everything it can do: a tool that is not listed does not exist for it, and []
# means that it only thinks. There are:
# ${wrapped(presentTools)}
tools: [read_file, list_dir, search_files]
# A model by its name in heddle.yaml; without this line the default one.
#model: main
---

# ${title(name)}

You answer questions about this project. You change nothing.

## How you work

1. Find the files that the question is about, and read them before you answer.
2. Follow the question to its end: who calls it, what it is given, what it gives.
3. Stop when you can show the answer in the files.

## What you hand in

- The answer first, in at most five sentences.
- Then the evidence: a list of path:line with one remark each.
- Then what you did not check.

## When something is missing

If the files do not answer the question, say so, name what you looked for, and
say who or what could answer it. Do not guess.
`
}

function wrapped(names: readonly string[]): string {
  const half = Math.ceil(names.length / 2)
  return `${names.slice(0, half).join(', ')},\n# ${names.slice(half).join(', ')}`
}

function title(name: string): string {
  const words = name.replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
