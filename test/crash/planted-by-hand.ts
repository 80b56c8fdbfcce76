import { again } from './corrupt.ts'
import type { planted } from './planted.ts'

const appended = `query_messages_json LIKE '%"kept by hand"%'`

/** The same of what people do by hand. */
export const plantedByHand: typeof planted = [
  ['I2', 'a turn that was appended and is gone', 'tree', /is there 0 times/, `DELETE FROM turns WHERE ${appended}`],
  ['I2', 'a turn that was appended twice', 'tree', /is there 2 times/, again('turns', appended, `id = 'copy'`)],
  ['I2', 'a fork that was made twice', 'tree', /is there 2 times/, again('sessions', `label = 'renamed'`, `id = 'x'`)],
  [
    'I2',
    'a session that has its old name, too',
    'tree',
    /renamed" .* 2 times/,
    again('sessions', `label = 'renamed'`, `id = 'x', label = 'side'`),
  ],
  ['I2', 'a persona that is gone', 'tree', /persona "gardener" .* 0 times/, `DELETE FROM personas`],
  ['I2', 'a vector that is gone', 'tree', /vector .* 0 times/, `DELETE FROM memory_vectors`],
  [
    'I2',
    'a file that is there although its write was undone',
    'tree',
    /undone "made.txt" .* 0 times/,
    { said: (all) => all.push({ kept: 'undone', name: 'made.txt' }) },
  ],
  [
    'I2',
    'a backup that is gone',
    'keep',
    /backup .* 0 times/,
    { said: (all) => all.push({ kept: 'backup', name: '/nowhere' }) },
  ],
  [
    'I2',
    'a setting that is not in the file',
    'keep',
    /setting .* 0 times/,
    { said: (all) => all.push({ kept: 'setting', name: 'retention.eventDays: 32' }) },
  ],
  [
    'I2',
    'a turn that is not in the database which a restore has moved aside',
    'keep',
    /turns lost was written, and is now undefined \(moment 1\)/,
    { moment: ({ rows }) => void rows.turns.push({ ...rows.turns[0], id: 'lost' }) },
  ],
]
