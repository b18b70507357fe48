/** The texts of the fixtures, in English and Arabic. */
export interface FixtureTexts {
  readonly names: Readonly<Record<string, string>>;
  readonly team: string;
  readonly club: string;
  readonly previews: readonly string[];
  readonly lines: readonly string[];
  readonly failed: string;
  readonly pending: string;
  readonly direct: readonly string[];
  readonly categories: readonly { readonly id: string; readonly label: string }[];
  readonly notifications: readonly (readonly [title: string, body: string, category: string])[];
}

const en: FixtureTexts = {
  names: {
    anna: "Anna Lindqvist",
    ben: "Ben Okafor",
    carla: "Carla Moreau",
    dilan: "Dilan Yıldız",
    emil: "Emil Hartmann",
    fatima: "Fatima Nasser",
  },
  team: "Garden party",
  club: "Book club",
  previews: [
    "I can bring the long table and two benches",
    "See you at the station at six?",
    "Thanks, that helps a lot!",
    "Chapter nine changed my mind about the captain.",
    "The photos are in the shared album now.",
  ],
  lines: [
    "Hello everyone! The weather looks good for Saturday, so let us do it in our garden.",
    "Come any time after four 🌞",
    "Lovely, I am in. What can I bring?",
    "I can bring the grill and enough charcoal for a small village.\n\nDoes anyone have a cooler?",
    "Yes, ours fits about 30 bottles. I will fill it.",
    "Then I make two cakes: one with cherries, one without nuts.",
    "The bakery on Mill Street also delivers, see https://example.com/cakes in case we need more.",
    "And happy birthday in advance, Carla!",
    "That is a great idea. Let us order one tray to be safe, somebody always brings a friend or two.",
    "Who has a long table?",
  ],
  failed: "I can ask my neighbour about the benches",
  pending: "He has two, solved!",
  direct: [
    "Did the train leave on time?",
    "Yes, and there is even coffee.",
    "Then see you at six. I will wait at the north entrance.",
    "Platform 4, last carriage. I have the big blue suitcase, you cannot miss me.",
    "👍",
    "See you at the station at six?",
  ],
  categories: [
    { id: "orders", label: "Orders" },
    { id: "news", label: "News" },
  ],
  notifications: [
    ["Your order has shipped", "It arrives on Wednesday between 9:00 and 12:00.", "orders"],
    ["Carla mentioned you in Garden party", "“Anna, could you bring the big salad bowl?”", "mentions"],
    ["Maintenance on Sunday", "The service is unavailable from 03:00 to 03:20 UTC.", "news"],
    ["Invoice 2026-1107 is ready", "", "orders"],
    ["New sign-in from Firefox on Linux", "If this was not you, change your password.", "news"],
    ["Welcome to Tidings", "Here you find everything that needs your attention.", "news"],
  ],
};

const ar: FixtureTexts = {
  names: {
    anna: "آنا لندكفيست",
    ben: "بن أوكافور",
    carla: "كارلا مورو",
    dilan: "ديلان يلدز",
    emil: "إميل هارتمان",
    fatima: "فاطمة ناصر",
  },
  team: "حفلة الحديقة",
  club: "نادي الكتاب",
  previews: [
    "أستطيع إحضار الطاولة الطويلة ومقعدين",
    "نلتقي في المحطة الساعة السادسة؟",
    "شكرًا، هذا يساعد كثيرًا!",
    "الفصل التاسع غيّر رأيي في القبطان.",
    "الصور الآن في الألبوم المشترك.",
  ],
  lines: [
    "مرحبًا بالجميع! يبدو الطقس جميلًا يوم السبت، فلنجتمع في حديقتنا.",
    "تعالوا في أي وقت بعد الرابعة 🌞",
    "رائع، سأحضر. ماذا أجلب معي؟",
    "سأجلب الشواية وما يكفي من الفحم لقرية صغيرة.\n\nهل لدى أحدكم حافظة تبريد؟",
    "نعم، تتسع لثلاثين زجاجة تقريبًا. سأملؤها.",
    "إذن سأخبز كعكتين: واحدة بالكرز وأخرى بلا مكسرات.",
    "المخبز في شارع الطاحونة يوصل أيضًا: https://example.com/cakes إن احتجنا إلى المزيد.",
    "وكل عام وأنتِ بخير مقدمًا يا كارلا!",
    "فكرة رائعة. لنطلب صينية واحدة احتياطًا، فدائمًا ما يجلب أحدهم صديقًا أو اثنين.",
    "من لديه طاولة طويلة؟",
  ],
  failed: "يمكنني أن أسأل جاري عن المقاعد",
  pending: "لديه اثنان، حُلّت المسألة!",
  direct: [
    "هل غادر القطار في موعده؟",
    "نعم، وهناك قهوة أيضًا.",
    "إذن نلتقي في السادسة. سأنتظر عند المدخل الشمالي.",
    "الرصيف الرابع، العربة الأخيرة. معي الحقيبة الزرقاء الكبيرة.",
    "👍",
    "نلتقي في المحطة الساعة السادسة؟",
  ],
  categories: [
    { id: "orders", label: "الطلبات" },
    { id: "news", label: "الأخبار" },
  ],
  notifications: [
    ["تم شحن طلبك", "يصل يوم الأربعاء بين التاسعة والثانية عشرة.", "orders"],
    ["ذكرتك كارلا في حفلة الحديقة", "«آنا، هل يمكنك إحضار وعاء السلطة الكبير؟»", "mentions"],
    ["صيانة يوم الأحد", "الخدمة غير متاحة من 03:00 إلى 03:20 بالتوقيت العالمي.", "news"],
    ["الفاتورة 2026-1107 جاهزة", "", "orders"],
    ["تسجيل دخول جديد من Firefox على Linux", "إن لم تكن أنت، فغيّر كلمة المرور.", "news"],
    ["أهلًا بك في Tidings", "هنا تجد كل ما يحتاج إلى انتباهك.", "news"],
  ],
};

export function texts(language: string): FixtureTexts {
  return language === "ar" ? ar : en;
}
