import { spellingsIn } from './words.ts'

/** Words of small numbers, folded like all words: they meet in messages of any topic by chance. */
export const smallNumbers: ReadonlySet<string> = new Set(
  spellingsIn(
    'first second third fourth fifth sixth seventh eighth ninth tenth two three four five six seven eight nine ten eleven twelve ' +
      'erste erster ersten zweite zweiter zweiten dritte dritter dritten vierte vierter vierten fünfte fünften sechste sechsten ' +
      'zwei drei vier fünf sechs sieben acht neun zehn elf zwölf deux trois quatre cinq dos tres cuatro cinco',
  ),
)
