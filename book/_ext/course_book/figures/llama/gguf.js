/* Reads a GGUF file, the format of llama.cpp: settings, then tensors. The tensors stay where they lie.
 *
 * Source: ggml-org/ggml, docs/gguf.md.
 */
(function () {
  "use strict";

  const MAGIC = 0x46554747; // "GGUF"
  const TYPES = { 0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 8: "Q8_0" };
  const BLOCKS = { F32: [1, 4], F16: [1, 2], Q4_0: [32, 18], Q4_1: [32, 20], Q8_0: [32, 34] }; // numbers, bytes
  const OTHER_TYPES = {
    6: "Q5_0", 7: "Q5_1", 9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 15: "Q8_K",
    16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 28: "F64", 30: "BF16",
  };
  const UTF8 = new TextDecoder();

  /** Reads a file's numbers and strings in order; throws a RangeError at the file's end. */
  class Cursor {
    constructor(buffer) {
      Object.assign(this, { buffer, view: new DataView(buffer), place: 0 });
    }

    take(method, bytes) {
      const value = this.view[method](this.place, true);
      this.place += bytes;
      return value;
    }

    u32() {
      return this.take("getUint32", 4);
    }

    u64() {
      return Number(this.take("getBigUint64", 8));
    }

    string() {
      const length = this.u64();
      const bytes = new Uint8Array(this.buffer, this.place, length);
      this.place += length;
      return UTF8.decode(bytes);
    }

    value(type) {
      switch (type) {
        case 0: return this.take("getUint8", 1);
        case 1: return this.take("getInt8", 1);
        case 2: return this.take("getUint16", 2);
        case 3: return this.take("getInt16", 2);
        case 4: return this.u32();
        case 5: return this.take("getInt32", 4);
        case 6: return this.take("getFloat32", 4);
        case 7: return this.take("getUint8", 1) !== 0;
        case 8: return this.string();
        case 9: return this.list();
        case 10: return this.u64();
        case 11: return Number(this.take("getBigInt64", 8));
        case 12: return this.take("getFloat64", 8);
        default: throw new Error(`A setting of it has the unknown type ${type}.`);
      }
    }

    list() {
      const type = this.u32();
      const length = this.u64();
      if (length > this.buffer.byteLength) throw new RangeError("longer than the file");
      const values = [];
      for (let i = 0; i < length; i += 1) values.push(this.value(type));
      return values;
    }
  }

  function readTensorEntry(cursor) {
    const name = cursor.string();
    const sizes = Array.from({ length: cursor.u32() }, () => cursor.u64()); // columns first
    const number = cursor.u32();
    const offset = cursor.u64();
    const [cols, ...others] = sizes;
    return { name, cols, rows: others.reduce((product, size) => product * size, 1), number, offset };
  }

  function findBytes(buffer, start, { name, cols, rows, number, offset }) {
    const type = TYPES[number];
    if (!type) {
      const called = OTHER_TYPES[number] ?? `number ${number}`;
      throw new Error(`Its tensor ${name} is of type ${called}; this page computes with ${Object.values(TYPES).join(", ")}.`);
    }
    const [size, bytes] = BLOCKS[type];
    if (cols % size) throw new Error(`Its tensor ${name} has rows of ${cols} numbers, which is no multiple of ${size}.`);
    return { name, type, cols, rows, bytes: new Uint8Array(buffer, start + offset, (rows * cols * bytes) / size) };
  }

  /** Return { settings, tensors }, both by name; an Error says why a file can't be read. */
  function readGGUF(buffer) {
    const cursor = new Cursor(buffer);
    try {
      if (cursor.u32() !== MAGIC) throw new Error("It is no GGUF file: it does not begin with \u201CGGUF\u201D.");
      const version = cursor.u32();
      if (version !== 2 && version !== 3) throw new Error(`It has version ${version} of GGUF; this page reads 2 and 3.`);
      const [tensorCount, settingCount] = [cursor.u64(), cursor.u64()];
      const settings = {};
      for (let i = 0; i < settingCount; i += 1) {
        const name = cursor.string();
        settings[name] = cursor.value(cursor.u32());
      }
      const entries = [];
      for (let i = 0; i < tensorCount; i += 1) entries.push(readTensorEntry(cursor));
      const alignment = settings["general.alignment"] ?? 32;
      const start = Math.ceil(cursor.place / alignment) * alignment;
      return { settings, tensors: new Map(entries.map((entry) => [entry.name, findBytes(buffer, start, entry)])) };
    } catch (error) {
      if (error instanceof RangeError) throw new Error("It ends too early: the file is not whole.");
      throw error;
    }
  }

  window.courseLlama = { readGGUF, BLOCKS };
})();
