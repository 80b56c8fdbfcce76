import { add, list } from './store.mjs'

const [command, ...words] = process.argv.slice(2)

if (command === 'add') add(words.join(' '))
else if (command === 'list') console.log(numbered(list()))
else {
  console.error('use: notes add TEXT, or notes list')
  process.exitCode = 2
}

function numbered(notes) {
  return notes.map((note, at) => `${at + 1}  ${note}`).join('\n')
}
