/** English and German words that say nothing about the topic of a message, folded like all words. */
export const stopWords: ReadonlySet<string> = new Set(
  (
    'the a an is are was were be been am to of in on at by for with and or but if so it its we our us you your they ' +
    'them their this that these those there here now do does did doe done has ha have had will would should could can cannot ' +
    'must may might not no yes ok as from than then when where which what who whom why how whose i me my mine he she ' +
    'his her him any some all each every both other others another one two three first second last next again still ' +
    'also too only just even yet already ever never always often more most less least very much many few lot bit ' +
    'please thank hello hi let get got give gave go goes going went come came make made take took put say said tell ' +
    'told show shown see seen look want need like know think use used using work way thing something anything ' +
    'nothing somebody someone anybody nobody everybody people person new old good better best bad worse about after ' +
    'before between into out over under up down off through while until since because without within per same such ' +
    'own don isn doesn didn won re ve ll s t d m really add change fix write find help try start stop keep today ' +
    'yesterday tomorrow day week month year time ' +
    'four five six seven eight nine ten eleven twelve hundred thousand number dear regard sincerely ' +
    'explain describe sentence paragraph ' +
    'der die das und oder ist sind war nicht kein ein eine einen mit von zu im am auf fur wie was wer wo wann warum ' +
    'ich du er sie es wir ihr mich dich uns bitte noch mal auch nur schon aber wenn dann den dem des ' +
    'der einer eines einem keine keinen bei bis aus nach vor fuer uber ueber unter um durch gegen ohne zum zur zwischen ' +
    'haben habe hat hatte hast sein bin bist waren wird werden wurde wurden kann kannst konnen koennen muss musst ' +
    'mussen muessen soll sollen will wollen darf durfen duerfen mag macht machen mach geht gehen gibt komm kommt ' +
    'welche welcher welches welchem welchen wieviel viele viel mehr sehr immer nie jetzt heute morgen gestern hier dort ' +
    'da doch nochmal eigentlich denn also dass weil ob als so ja nein man mir dir ihm ihnen ihn euch sich mein meine ' +
    'meinen dein deine seine ihre unser unsere unseren dieser diese dieses jeder jede jedes alle alles etwas nichts ' +
    'brauche brauchen sag sagt schreib schreibe schreiben danke hallo ' +
    'zwei drei vier funf fuenf sechs sieben acht neun zehn elf zwolf zwoelf hundert tausend ' +
    'liebe lieber liebes grusse gruesse gruss herzliche herzlichen erklar erklaer erklare erklaere'
  ).split(' '),
)
