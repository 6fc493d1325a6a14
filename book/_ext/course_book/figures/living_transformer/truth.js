/* The truth about a sentence: the words that belong together, and the one that decides another's form.
 *
 * trueKeys(example, written, stage, query) -> { partner, agreement }: sets of keys that the query of
 * an attention would look at if it followed the alignment, or the agreement. Rows of the decoder are
 * those of the word that is being written; the start symbol stands before the first. The truth is of
 * the right translation, and holds as long as the model has written that.
 */
(function () {
  "use strict";

  const none = () => ({ partner: new Set(), agreement: new Set() });
  const ofFrench = (links, word) => links.filter(([, j]) => j === word).map(([i]) => i);
  const ofEnglish = (links, word) => links.filter(([i]) => i === word).map(([, j]) => j);

  /** For each French word that decides the form of this one, its place. */
  function controllers(example, word) {
    return example.tgt_agreements.filter(([agrees]) => agrees === word).map(([, decides]) => decides);
  }

  function inEncoder(example, query) {
    const english = example.src_agreements.filter(([agrees]) => agrees === query).map(([, decides]) => decides);
    const french = ofEnglish(example.alignment, query)
      .flatMap((word) => controllers(example, word))
      .flatMap((word) => ofFrench(example.alignment, word));
    return { partner: new Set(), agreement: new Set([...english, ...french].filter((i) => i !== query)) };
  }

  function inDecoder(example, query) {
    return { partner: new Set(), agreement: new Set(controllers(example, query).map((word) => word + 1)) };
  }

  function across(example, query) {
    const deciding = controllers(example, query).flatMap((word) => ofFrench(example.alignment, word));
    return { partner: new Set(ofFrench(example.alignment, query)), agreement: new Set(deciding) };
  }

  function trueKeys(example, written, stage, query) {
    if (!example) return none();
    if (stage.side === "encoder") return inEncoder(example, query);
    const right = example.tgt.slice(0, query).every((word, j) => word === written[j]);
    if (!right || query >= example.tgt.length) return none();
    return stage.cross ? across(example, query) : inDecoder(example, query);
  }

  window.courseLiving.trueKeys = trueKeys;
})();
